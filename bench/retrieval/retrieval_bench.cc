// Retrieval of past incidents at size: docs/reasoner.md#history, bench/README.md.
//   retrieval_bench --documents=100000
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <set>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "bench/retrieval/corpus.h"
#include "common/incident_history/memory_index.h"
#include "common/incident_history/search.h"
#include "common/incident_history/store.h"
#include "common/incident_history/tokens.h"
#include "common/knowledge/load.h"

ABSL_FLAG(std::uint32_t, documents, 100000, "Past incidents in the index.");
ABSL_FLAG(std::uint32_t, queries, 400, "Questions asked, half of them brief.");
ABSL_FLAG(bool, reference, true, "Compare with an index in memory, whose BM25 is exact.");
ABSL_FLAG(std::string, directory, "/tmp/galen-retrieval-bench", "Where the index goes.");
ABSL_FLAG(std::string, knowledge, GALEN_SOURCE_DIR "/knowledge", "Where sentences come from.");

ABSL_FLAG(std::string, benchmark_min_time, "", "What `make bench` gives every benchmark; unused.");

namespace galen::bench {
namespace {

using namespace incident_history;  // NOLINT(google-build-using-namespace)

constexpr std::uint32_t kBatch = 512;

double Wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double Cpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Milliseconds of each call.
struct Times {
  std::vector<double> wall;
  std::vector<double> cpu;

  template <typename F>
  auto Measure(F call) {
    const double cpu_begin = Cpu();
    const double begin = Wall();
    auto result = call();
    wall.push_back((Wall() - begin) * 1e3);
    cpu.push_back((Cpu() - cpu_begin) * 1e3);
    return result;
  }
  static double At(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1,
                           static_cast<size_t>(share * static_cast<double>(values.size())))];
  }
  void Print(const std::string& name) const {
    std::printf("%-34s p50 %7.3f  p99 %7.3f ms   processor time p50 %7.3f  p99 %7.3f ms\n",
                name.c_str(), At(wall, 0.5), At(wall, 0.99), At(cpu, 0.5), At(cpu, 0.99));
    std::fflush(stdout);
  }
};

double PeakMib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::cerr << value.status() << "\n";
    std::exit(1);
  }
  return *std::move(value);
}
void Must(const absl::Status& status) {
  if (!status.ok()) {
    std::cerr << status << "\n";
    std::exit(1);
  }
}

void DropFromCache(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  fdatasync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

// How good the answers of a search are: the ticket that a question was made from is the first hit,
// or among all; its label is the likeliest cause.
struct Quality {
  int first = 0;
  int among = 0;
  int label = 0;
  int asked = 0;

  void Count(const Answer& answer, const Document& ticket) {
    ++asked;
    for (size_t i = 0; i < answer.hits.size(); ++i) {
      if (answer.hits[i].document.id != ticket.id) continue;
      ++among;
      if (i == 0) ++first;
    }
    const std::vector<Cause> causes = DistinctCauses(answer.hits, 0.12);
    if (!causes.empty() && causes[0].label == ticket.label) ++label;
  }
  void Print(const char* name) const {
    std::printf("%s: of %d questions, own ticket first %d, among 20 %d, own label first %d\n", name,
                asked, first, among, label);
    std::fflush(stdout);
  }
};

int Run() {
  const std::uint32_t documents = absl::GetFlag(FLAGS_documents);
  const std::string directory = absl::GetFlag(FLAGS_directory);
  std::filesystem::remove_all(directory);
  const std::string sentences = absl::GetFlag(FLAGS_knowledge);
  const auto knowledge = Must(knowledge::Load({sentences}, {.cache_directory = ""}));
  const Corpus corpus(*knowledge);
  const HashedEmbedder embedder;
  std::printf("%u past incidents, for example:\n%s\n", documents, corpus.Ticket(4711).text.c_str());

  // Adding all.
  std::vector<Document> kept;
  {
    const auto store = Must(Store::Open(directory, embedder));
    double wall = 0;
    double cpu = 0;
    double text_bytes = 0;
    for (std::uint32_t i = 0; i < documents; i += kBatch) {
      std::vector<Document> batch;
      for (std::uint32_t k = i; k < std::min(i + kBatch, documents); ++k) {
        batch.push_back(corpus.Ticket(k));
        text_bytes += static_cast<double>(batch.back().text.size());
      }
      const double begin = Wall();
      const double cpu_begin = Cpu();
      Must(store->Add(batch));
      wall += Wall() - begin;
      cpu += Cpu() - cpu_begin;
      if (absl::GetFlag(FLAGS_reference)) kept.insert(kept.end(), batch.begin(), batch.end());
    }
    std::printf("adding all: %.1f s, processor time %.1f s\n", wall, cpu);
    std::printf("text %.0f bytes a document\n", text_bytes / documents);
  }
  const std::string file = directory + "/history.db";
  std::printf("file: %.0f bytes a document\n",
              static_cast<double>(std::filesystem::file_size(file)) / documents);

  // Ready from a cold file.
  Times cold;
  Times first;
  for (std::uint32_t i = 0; i < 5; ++i) {
    DropFromCache(file);
    const auto store = cold.Measure([&] { return Must(Store::Open(directory, embedder)); });
    const std::string question = corpus.Question(i * 97, false);
    first.Measure([&] { return Search({store.get()}, embedder, question); });
  }
  cold.Print("open a cold file");
  first.Print("first question after that");

  const auto store = Must(Store::Open(directory, embedder));
  const MemoryIndex reference(std::move(kept), embedder);
  Times whole;
  Times words;
  Times vectors;
  Quality quality;
  Quality exact;
  double recall = 0;
  double asked_words = 0;
  const std::uint32_t queries = absl::GetFlag(FLAGS_queries);
  for (std::uint32_t i = 0; i < queries; ++i) {
    const auto about = static_cast<std::uint32_t>(Mix(i + 5) % documents);
    const Document ticket = corpus.Ticket(about);
    const std::string question = corpus.Question(about, i % 2 == 1);
    quality.Count(whole.Measure([&] { return Search({store.get()}, embedder, question); }), ticket);
    const std::vector<std::string> asked = Must(QueryWords(*store, question));
    asked_words += static_cast<double>(asked.size());
    const auto found = words.Measure([&] { return Must(store->SearchWords(asked, 128, "")); });
    const Vector vector = Must(embedder.EmbedDocument(question));
    vectors.Measure([&] { return Must(store->SearchVectors(vector, embedder.name(), 128, "")); });
    if (reference.documents() == 0) continue;
    exact.Count(Search({&reference}, embedder, question), ticket);
    // Numbers of the store begin at 1.
    std::set<std::int64_t> best;
    for (const Scored& scored : Must(reference.SearchWords(asked, 10, ""))) {
      best.insert(scored.document + 1);
    }
    double good = 0;
    for (size_t k = 0; k < std::min<size_t>(10, found.size()); ++k) {
      good += best.contains(found[k].document) ? 1 : 0;
    }
    recall += best.empty() ? 1 : good / static_cast<double>(best.size());
  }
  std::printf("%u questions, %.1f different words each\n", queries, asked_words / queries);
  whole.Print("a whole search");
  words.Print("  of it: 128 best by words");
  vectors.Print("  of it: 128 best by vectors");
  quality.Print("the store");
  if (reference.documents() > 0) {
    exact.Print("exact BM25");
    std::printf("words: recall@10 %.4f against exact BM25\n", recall / queries);
  }
  std::printf("peak %.0f MiB\n", PeakMib());

  // Adding one.
  Times add;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const Document ticket = corpus.Ticket(documents + i);
    add.Measure([&] {
      Must(store->Add(ticket));
      return 0;
    });
  }
  add.Print("adding one, on the disk");
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace galen::bench

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return galen::bench::Run();
}
