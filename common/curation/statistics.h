#ifndef COMMON_CURATION_STATISTICS_H_
#define COMMON_CURATION_STATISTICS_H_

#include <string>
#include <vector>

#include "galen/knowledge/v1/knowledge.pb.h"

namespace galen::curation {

// Past incidents of one main category. Recurrence is defined as in the paper AidAI (its Table 1):
// incidents divided by the distinct fault types (leaves) among them.
struct CategoryStatistics {
  std::string name;     // of the main category
  int labels = 0;       // leaves below it
  int incidents = 0;    // of the history
  int fault_types = 0;  // distinct leaves among them
  double recurrence() const {
    return fault_types == 0 ? 0 : static_cast<double>(incidents) / fault_types;
  }
};

// One month; the paper's Figure 11 draws `new_labels`.
struct MonthStatistics {
  std::string month;  // YYYY-MM
  int incidents = 0;
  std::vector<std::string> new_labels;  // sorted
};

struct Statistics {
  std::vector<CategoryStatistics> categories;  // in the order of the taxonomy
  CategoryStatistics total;                    // named "total"
  std::vector<MonthStatistics> months;         // from the first to the last, none left out
  int undated_incidents = 0;
  int undated_labels = 0;  // leaves with neither a day nor an incident
};

// A leaf is new in the month of the day `added` that its entry names, or else of the first incident
// that had it as its cause. Pure.
Statistics StatisticsOf(const knowledge::v1::KnowledgeBase& base);

}  // namespace galen::curation

#endif  // COMMON_CURATION_STATISTICS_H_
