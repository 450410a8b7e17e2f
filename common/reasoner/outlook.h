#ifndef COMMON_REASONER_OUTLOOK_H_
#define COMMON_REASONER_OUTLOOK_H_

#include <string>

#include "common/reasoner/judge.h"

namespace galen::reasoner {

// What the evidence so far says of one leaf, for the order of search.
struct Outlook {
  double log_odds = 0;
  double said = 0;                            // what signals add to it
  const galen::v1::Signal* signal = nullptr;  // the weightiest
  std::string finding;                        // the best sentence of a true confirm entry
  bool specific = false;                      // nothing else accounts for that entry
  bool strong = false;                        // a strong signal or an abnormal finding, not refuted
  bool compelling = false;  // a decisive signal or an abnormal finding, not refuted
  bool confirmed = false;   // on some node
  bool refuted = false;     // on every node where it could be told
};

// The outlooks of one case, which must outlive it.
class Outlooks {
 public:
  explicit Outlooks(const Case& the_case) : case_(the_case) {}
  Outlook Of(const knowledge::v1::Label& leaf) const;

 private:
  void AddSignals(const knowledge::v1::Label& leaf, Outlook& outlook) const;
  void AddFindings(const knowledge::v1::Label& leaf, Outlook& outlook) const;

  const Case& case_;
};

}  // namespace galen::reasoner

#endif  // COMMON_REASONER_OUTLOOK_H_
