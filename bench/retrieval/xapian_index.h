#ifndef BENCH_RETRIEVAL_XAPIAN_INDEX_H_
#define BENCH_RETRIEVAL_XAPIAN_INDEX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace galen::bench {

// Xapian over the same words, with the same weights (BM25, k1 1.2, b 0.75): a database on disk,
// compacted, opened for reading.
class XapianIndex {
 public:
  // `path` must not exist.
  explicit XapianIndex(std::string path);
  ~XapianIndex();

  void Add(const std::vector<std::string>& tokens);
  // Makes it durable and compact, and opens it for reading.
  void Finish();
  // Numbers of the `most` best documents, from 0, best first: any of the words.
  std::vector<std::uint32_t> Search(const std::vector<std::string>& words, size_t most);
  std::uint64_t bytes() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string path_;
};

}  // namespace galen::bench

#endif  // BENCH_RETRIEVAL_XAPIAN_INDEX_H_
