#include "bench/retrieval/xapian_index.h"

#include <xapian.h>

#include <filesystem>

namespace galen::bench {

struct XapianIndex::Parts {
  std::unique_ptr<Xapian::WritableDatabase> writing;
  std::unique_ptr<Xapian::Database> reading;
};

XapianIndex::XapianIndex(std::string path)
    : parts_(std::make_unique<Parts>()), path_(std::move(path)) {
  parts_->writing = std::make_unique<Xapian::WritableDatabase>(
      path_ + ".raw", Xapian::DB_CREATE_OR_OVERWRITE | Xapian::DB_NO_SYNC);
}
XapianIndex::~XapianIndex() = default;

void XapianIndex::Add(const std::vector<std::string>& tokens) {
  Xapian::Document document;
  for (const std::string& token : tokens) document.add_term(token);
  parts_->writing->add_document(document);
}

void XapianIndex::Finish() {
  parts_->writing->commit();
  parts_->writing->compact(path_, Xapian::DBCOMPACT_NO_RENUMBER);
  parts_->writing.reset();
  std::filesystem::remove_all(path_ + ".raw");
  parts_->reading = std::make_unique<Xapian::Database>(path_);
}

std::vector<std::uint32_t> XapianIndex::Search(const std::vector<std::string>& words, size_t most) {
  Xapian::Enquire enquire(*parts_->reading);
  enquire.set_query(Xapian::Query(Xapian::Query::OP_OR, words.begin(), words.end()));
  enquire.set_weighting_scheme(Xapian::BM25Weight(1.2, 0, 1, 0.75, 0));
  std::vector<std::uint32_t> documents;
  const Xapian::MSet found = enquire.get_mset(0, static_cast<Xapian::doccount>(most));
  for (auto it = found.begin(); it != found.end(); ++it) documents.push_back(*it - 1);
  return documents;
}

std::uint64_t XapianIndex::bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

}  // namespace galen::bench
