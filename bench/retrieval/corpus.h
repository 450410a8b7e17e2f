#ifndef BENCH_RETRIEVAL_CORPUS_H_
#define BENCH_RETRIEVAL_CORPUS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/incident_history/document.h"
#include "common/knowledge/knowledge.h"

namespace galen::bench {

// Tickets that look like those of a large site, made from the sentences of the knowledge: each is
// about one label, most sentences are that label's or those of past incidents, some are about
// something else, with words changed, names of hosts and jobs, versions and log lines. One in eight
// is a near copy of an earlier one, as recurring faults make them. The same number gives the same
// ticket, whatever was asked before.
class Corpus {
 public:
  explicit Corpus(const knowledge::Knowledge& knowledge);

  incident_history::Document Ticket(std::uint32_t number) const;
  // The text of a person with the fault of that ticket: half of its sentences, words changed, other
  // names. Or, `brief`, a line of some words.
  std::string Question(std::uint32_t number, bool brief) const;

 private:
  struct Topic {
    std::string label;
    std::vector<std::string> sentences;
  };
  std::vector<std::string> Sentences(std::uint32_t number, std::uint64_t& state,
                                     std::string& label) const;
  std::string Changed(const std::string& sentence, std::uint64_t& state, int percent) const;

  std::vector<Topic> topics_;
  std::vector<std::string> others_;  // sentences of no topic
  std::vector<std::string> words_;   // that replace others
};

}  // namespace galen::bench

#endif  // BENCH_RETRIEVAL_CORPUS_H_
