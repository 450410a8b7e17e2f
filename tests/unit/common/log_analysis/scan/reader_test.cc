#include "common/log_analysis/scan/reader.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/testing/status_matchers.h"

namespace galen::log_scan {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::HasSubstr;

class Reader : public ::testing::Test {
 protected:
  Reader() {
    directory_ = ::testing::TempDir() + "reader_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  ~Reader() override { std::filesystem::remove_all(directory_); }

  std::string Path(absl::string_view name) const { return absl::StrCat(directory_, "/", name); }

  std::string Write(absl::string_view name, absl::string_view content) const {
    std::ofstream(Path(name), std::ios::binary) << content;
    return Path(name);
  }

  // Packs `content` with libarchive's filter of that number.
  std::string Pack(absl::string_view name, absl::string_view content, int filter) const {
    archive* out = archive_write_new();
    archive_write_add_filter(out, filter);
    archive_write_set_format_raw(out);
    archive_write_set_bytes_in_last_block(out, 1);
    archive_write_open_filename(out, Path(name).c_str());
    archive_entry* entry = archive_entry_new();
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_write_header(out, entry);
    archive_write_data(out, content.data(), content.size());
    archive_entry_free(entry);
    archive_write_close(out);
    archive_write_free(out);
    return Path(name);
  }

  std::string directory_;
};

absl::StatusOr<std::string> ReadAll(LogReader& reader) {
  std::string all;
  for (;;) {
    const absl::StatusOr<absl::string_view> chunk = reader.Next();
    if (!chunk.ok()) return chunk.status();
    if (chunk->empty()) return all;
    absl::StrAppend(&all, *chunk);
  }
}

std::string Text() {
  std::string text;
  for (int i = 0; i < 300'000; ++i) absl::StrAppend(&text, "line ", i, "\n");
  return text;
}

TEST_F(Reader, GivesTheTextOfPlainGzipAndZstdFiles) {
  const std::string text = Text();
  for (const std::string& path : {Write("plain.log", text), Pack("a.gz", text, ARCHIVE_FILTER_GZIP),
                                  Pack("misnamed.log", text, ARCHIVE_FILTER_ZSTD)}) {
    const auto reader = LogReader::Open(path, {});
    ASSERT_THAT(reader, IsOk());
    const auto all = ReadAll(**reader);
    ASSERT_THAT(all, IsOk());
    EXPECT_TRUE(*all == text) << path;
    EXPECT_FALSE((*reader)->truncated());
  }
}

TEST_F(Reader, GivesTheZerosOfHolesInTheirPlaces) {
  const std::string path = Write("holes.log", "");
  std::string expected;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (const std::size_t hole : {3u << 20, 1u << 20, 5u << 10}) {
    expected += std::string(hole, '\0');
    file.seekp(static_cast<std::streamoff>(expected.size()));
    file << "mark\n";
    expected += "mark\n";
  }
  file.close();
  expected += std::string(2 << 20, '\0');
  std::filesystem::resize_file(path, expected.size());
  const auto reader = LogReader::Open(path, {});
  ASSERT_THAT(reader, IsOk());
  const auto all = ReadAll(**reader);
  ASSERT_THAT(all, IsOk());
  EXPECT_TRUE(*all == expected);
}

TEST_F(Reader, OfAnEmptyFileGivesNothing) {
  const auto reader = LogReader::Open(Write("empty", ""), {});
  ASSERT_THAT(reader, IsOk());
  EXPECT_EQ(*ReadAll(**reader), "");
}

TEST_F(Reader, StopsAtItsLimit) {
  const std::string text = Text();
  for (const std::string& path :
       {Write("plain.log", text), Pack("a.gz", text, ARCHIVE_FILTER_GZIP)}) {
    const auto reader = LogReader::Open(path, {.max_bytes = 1000});
    ASSERT_THAT(reader, IsOk());
    EXPECT_EQ(*ReadAll(**reader), text.substr(0, 1000));
    EXPECT_TRUE((*reader)->truncated());
  }
}

TEST_F(Reader, SaysThatAPackedFileIsTruncatedShort) {
  const std::string path = Pack("a.gz", Text(), ARCHIVE_FILTER_GZIP);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const auto reader = LogReader::Open(path, {});
  ASSERT_THAT(reader, IsOk());
  EXPECT_THAT(ReadAll(**reader), StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)));
}

TEST_F(Reader, NamesAFileThatIsNotThere) {
  EXPECT_THAT(LogReader::Open(Path("none.log"), {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("none.log")));
}

TEST_F(Reader, RefusesWhatIsNoRegularFileWithoutWaiting) {
  const std::string pipe = Path("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& path : {pipe, directory_, std::string("/dev/zero")}) {
    EXPECT_THAT(LogReader::Open(path, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")))
        << path;
  }
}

TEST_F(Reader, TellsWhereALinkLeads) {
  const std::string target = Write("target.log", "x");
  std::filesystem::create_symlink(target, Path("link.log"));
  const auto reader = LogReader::Open(Path("link.log"), {});
  ASSERT_THAT(reader, IsOk());
  EXPECT_EQ((*reader)->real_path(), std::filesystem::canonical(target).string());
}

}  // namespace
}  // namespace galen::log_scan
