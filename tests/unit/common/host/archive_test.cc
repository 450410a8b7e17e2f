#include "common/host/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/host/bundle.h"
#include "scratch.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct Entry {
  std::string path;
  std::string content;
  std::string link;  // symbolic link to
  std::string hard;  // hard link to
  unsigned type = AE_IFREG;
};

// Writes an archive in the format of the name's extension.
void Pack(const std::string& path, const std::vector<Entry>& entries) {
  archive* const writer = archive_write_new();
  if (absl::EndsWith(path, ".zip")) {
    archive_write_set_format_zip(writer);
  } else {
    archive_write_set_format_pax_restricted(writer);
    if (absl::EndsWith(path, "gz")) archive_write_add_filter_gzip(writer);
    if (absl::EndsWith(path, ".zst")) archive_write_add_filter_zstd(writer);
  }
  ASSERT_EQ(archive_write_open_filename(writer, path.c_str()), ARCHIVE_OK);
  for (const Entry& entry : entries) {
    archive_entry* const header = archive_entry_new();
    archive_entry_set_pathname(header, entry.path.c_str());
    archive_entry_set_perm(header, 0644);
    archive_entry_set_filetype(header, entry.link.empty() ? entry.type : AE_IFLNK);
    if (!entry.link.empty()) archive_entry_set_symlink(header, entry.link.c_str());
    if (!entry.hard.empty()) archive_entry_set_hardlink(header, entry.hard.c_str());
    archive_entry_set_size(header, static_cast<la_int64_t>(entry.content.size()));
    ASSERT_EQ(archive_write_header(writer, header), ARCHIVE_OK) << archive_error_string(writer);
    archive_write_data(writer, entry.content.data(), entry.content.size());
    archive_entry_free(header);
  }
  ASSERT_EQ(archive_write_free(writer), ARCHIVE_OK);
}

std::vector<Entry> SmallBundle(const std::string& top) {
  return {{top + "bundle.yaml", "format: galen.bundle/v1\nnodes: [n1]\n", "", ""},
          {top + "incident.yaml", "description: slow\n", "", ""},
          {top + "nodes/n1/rootfs/etc/hosts", "127.0.0.1 localhost\n", "", ""}};
}

class BundleArchive : public ::testing::TestWithParam<const char*> {};

TEST_P(BundleArchive, OpensLikeItsDirectoryAndLeavesNothingBehind) {
  for (const std::string& top : {std::string(), std::string("./"), std::string("case-7/")}) {
    Scratch scratch;
    const std::string path = scratch / GetParam();
    Pack(path, SmallBundle(top));
    std::string root;
    {
      auto bundle = Bundle::Open(path);
      ASSERT_THAT(bundle, IsOk());
      root = (*bundle)->root();
      auto node = (*bundle)->OpenNode("n1");
      ASSERT_THAT(node, IsOk());
      // The node alone keeps the unpacked files.
      bundle->reset();
      EXPECT_THAT((*node)->ReadFile("/etc/hosts"), IsOk());
    }
    EXPECT_FALSE(std::filesystem::exists(root));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, BundleArchive,
                         ::testing::Values("b.tar.gz", "b.tgz", "b.tar.zst", "b.tar", "b.zip"));

struct Hostile {
  const char* name;
  Entry entry;
  const char* says;
};

class HostileArchive : public ::testing::TestWithParam<Hostile> {};

TEST_P(HostileArchive, IsRefusedAndWritesNothingOutside) {
  Scratch scratch;
  std::vector<Entry> entries = SmallBundle("");
  entries.push_back(GetParam().entry);
  Pack(scratch / "b.tar", entries);
  const std::string inside = scratch / "in/side";
  std::filesystem::create_directories(inside);
  EXPECT_THAT(Unpack(scratch / "b.tar", inside, ArchiveLimits{}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("b.tar: entry "), HasSubstr(GetParam().says))));
  EXPECT_FALSE(std::filesystem::exists(scratch / "evil"));
  EXPECT_FALSE(std::filesystem::exists(scratch / "in/evil"));
}

INSTANTIATE_TEST_SUITE_P(
    Each, HostileArchive,
    ::testing::Values(
        Hostile{"Absolute", {"/tmp/galen-evil", "x", "", ""}, "absolute path"},
        Hostile{"Climbs", {"../evil", "x", "", ""}, "leaves the archive"},
        Hostile{"ClimbsInside", {"logs/../../evil", "x", "", ""}, "leaves the archive"},
        Hostile{"LinkAbsolute", {"logs/a", "", "/etc/passwd", ""}, "link that leaves"},
        Hostile{"LinkClimbs", {"logs/a", "", "../../evil", ""}, "link that leaves"},
        Hostile{"HardLink", {"logs/a", "", "", "../../etc/passwd"}, "leaves the archive"},
        Hostile{"Pipe", {"logs/a", "", "", "", AE_IFIFO}, "neither a file"},
        Hostile{"Twice", {"bundle.yaml", "format: x", "", ""}, "is there twice"},
        Hostile{"BelowFile", {"bundle.yaml/x", "y", "", ""}, "below a file"}),
    [](const auto& parameter) { return std::string(parameter.param.name); });

TEST(Archive, FilesAreNotWrittenThroughLinks) {
  Scratch scratch;
  // The link alone is harmless; a file "below" it must not be written to its target.
  Pack(scratch / "b.tar",
       {{"real/keep", "old", "", ""}, {"alias", "", "real", ""}, {"alias/keep", "new", "", ""}});
  const std::string inside = scratch / "inside";
  std::filesystem::create_directories(inside);
  EXPECT_FALSE(Unpack(scratch / "b.tar", inside, ArchiveLimits{}).ok());
  EXPECT_EQ(scratch.Read("inside/real/keep"), "old");
}

TEST(Archive, LinksThatStayInsideAreKept) {
  Scratch scratch;
  std::vector<Entry> entries = SmallBundle("");
  entries.push_back({"nodes/n1/rootfs/etc/alias", "", "hosts", ""});
  entries.push_back({"nodes/n1/rootfs/etc/twin", "", "", "nodes/n1/rootfs/etc/hosts"});
  Pack(scratch / "b.tar", entries);
  const auto bundle = Bundle::Open(scratch / "b.tar");
  ASSERT_THAT(bundle, IsOk());
  const auto node = (*bundle)->OpenNode("n1");
  ASSERT_THAT(node, IsOk());
  EXPECT_THAT((*node)->ReadFile("/etc/alias"), IsOk());
  EXPECT_THAT((*node)->ReadFile("/etc/twin"), IsOk());
}

TEST(Archive, StopsAtItsLimits) {
  for (const char* const name : {"bomb.zip", "bomb.tar.gz"}) {
    Scratch scratch;
    // A thousandfold smaller when packed.
    Pack(scratch / name, {{"zeros", std::string(4u << 20, '\0'), "", ""}});
    ASSERT_LT(std::filesystem::file_size(scratch / name), 100'000u);
    const std::string inside = scratch / "inside";
    std::filesystem::create_directories(inside);
    EXPECT_THAT(Unpack(scratch / name, inside, ArchiveLimits{.files = 10, .bytes = 1 << 20}),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("unpacks to more than")));
    EXPECT_THAT(
        Unpack(scratch / name, inside, ArchiveLimits{.files = 0, .bytes = 8 << 20}),
        StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("holds more than 0 files")));
  }
}

std::string DeepPath(int depth, const std::string& name) {
  std::string path;
  for (int i = 0; i < depth; ++i) path += name + "/";
  return path;
}

std::int64_t FilesIn(const std::string& directory) {
  std::int64_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    count += entry.exists() || entry.is_symlink() ? 1 : 0;
  }
  return count;
}

// 200 entries of 1,900 parts each, in 8 KB, made 372,000 directories.
TEST(Archive, DirectoriesThatNoEntryNamesAreCounted) {
  Scratch scratch;
  std::vector<Entry> entries;
  for (int i = 0; i < 200; ++i) {
    entries.push_back({DeepPath(50, absl::StrCat("d", i)) + "f", "x", "", ""});
  }
  Pack(scratch / "b.tar.gz", entries);
  const std::string inside = scratch / "inside";
  std::filesystem::create_directories(inside);
  EXPECT_THAT(Unpack(scratch / "b.tar.gz", inside, ArchiveLimits{.files = 1000}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("holds more than 1000")));
  EXPECT_LE(FilesIn(inside), 1001);
  // Each takes room on the disk in addition to its content: 200 bytes here.
  const std::string again = scratch / "again";
  std::filesystem::create_directories(again);
  EXPECT_THAT(Unpack(scratch / "b.tar.gz", again, ArchiveLimits{.bytes = 1000 * kInodeBytes}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("unpacks to more than")));
  EXPECT_LE(FilesIn(again), 1001);
}

TEST(Archive, PathsThatAreTooDeepAreRefused) {
  for (const unsigned type : {AE_IFREG, AE_IFDIR}) {
    Scratch scratch;
    Pack(scratch / "b.tar", {{DeepPath(1900, "d") + "f", "", "", "", type}});
    const std::string inside = scratch / "inside";
    std::filesystem::create_directories(inside);
    EXPECT_THAT(Unpack(scratch / "b.tar", inside, ArchiveLimits{}),
                StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("directories deep")));
    EXPECT_EQ(FilesIn(inside), 0);
  }
}

TEST(Archive, UnpackingEndsWhenItsTimeIsOver) {
  Scratch scratch;
  Pack(scratch / "b.tar", SmallBundle(""));
  const std::string inside = scratch / "inside";
  std::filesystem::create_directories(inside);
  EXPECT_THAT(Unpack(scratch / "b.tar", inside, ArchiveLimits{.time = absl::ZeroDuration()}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("takes longer to unpack")));
}

TEST(Archive, LinksDoNotLeadOutOneThroughAnother) {
  const std::vector<std::vector<Entry>> chains = {
      // up is the top's own "..", by way of a directory that is a link.
      {{"a/b/c/f", "x", "", ""}, {"d", "", "a/b/c", ""}, {"e", "", "d/../../../../evil", ""}},
      {{"one/f", "x", "", ""}, {"one/two", "", "..", ""}, {"three", "", "one/two/../evil", ""}},
      {{"x", "", "y", ""}, {"y", "", "x", ""}},
  };
  for (const std::vector<Entry>& entries : chains) {
    Scratch scratch;
    Pack(scratch / "b.tar", entries);
    scratch.Write("in/evil", "secret");
    const std::string inside = scratch / "in/side";
    std::filesystem::create_directories(inside);
    EXPECT_THAT(Unpack(scratch / "b.tar", inside, ArchiveLimits{}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is a link that")));
  }
}

TEST(Archive, ATruncatedOneIsAClearError) {
  for (const char* const name : {"b.tar.gz", "b.tar.zst", "b.zip"}) {
    Scratch scratch;
    std::vector<Entry> entries = SmallBundle("");
    std::string noise;
    for (unsigned i = 0, x = 1; i < 200'000; ++i, x = x * 1664525u + 1013904223u) {
      noise += static_cast<char>(x >> 24);
    }
    entries.push_back({"logs/noise", noise, "", ""});
    Pack(scratch / name, entries);
    std::filesystem::resize_file(scratch / name, std::filesystem::file_size(scratch / name) / 2);
    EXPECT_THAT(Bundle::Open(scratch / name),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("cut off")));
  }
}

TEST(Archive, AFileThatIsNoneIsAClearError) {
  Scratch scratch;
  for (const std::string& content :
       {std::string(), std::string("hello\n"), std::string(5000, '\xff')}) {
    scratch.Write("notes.txt", content);
    const auto bundle = Bundle::Open(scratch / "notes.txt");
    EXPECT_FALSE(bundle.ok());
    EXPECT_THAT(bundle.status().message(), HasSubstr("notes.txt"));
  }
}

}  // namespace
}  // namespace galen::host
