// Retrieval of past incidents at size: docs/reasoner.md#history, bench/README.md.
//   retrieval_bench --documents=100000            everything beside Xapian
//   retrieval_bench --documents=1000000 --xapian=false
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "bench/retrieval/corpus.h"
#include "common/incident_history/lexical.h"
#include "common/incident_history/search.h"
#include "common/incident_history/segment_builder.h"
#include "common/incident_history/store.h"
#include "common/knowledge/load.h"
#ifdef GALEN_HAS_XAPIAN
#include "bench/retrieval/xapian_index.h"
#endif

ABSL_FLAG(std::uint32_t, documents, 100000, "Past incidents in the index.");
ABSL_FLAG(std::uint32_t, queries, 1000, "Questions asked, half of them brief.");
ABSL_FLAG(std::uint32_t, truth, 1000, "Questions compared with brute force.");
ABSL_FLAG(int, rounds, 5, "How often all questions are asked; kinds take turns.");
ABSL_FLAG(int, threads, 1, "Threads that build the graph.");
ABSL_FLAG(std::uint32_t, links, 32, "Links of the graph.");
ABSL_FLAG(std::uint32_t, graph_effort, 200, "Candidates for each new document of the graph.");
ABSL_FLAG(bool, xapian, true, "Compare with Xapian.");
ABSL_FLAG(bool, floats, true, "Compare with vectors that were never rounded.");
ABSL_FLAG(std::string, segment, "", "Takes this segment, made before, instead of building one.");
ABSL_FLAG(std::string, keep, "", "Keeps the segment under this name.");
ABSL_FLAG(std::string, directory, "/tmp/galen-retrieval-bench", "Where the indexes go.");
ABSL_FLAG(std::string, knowledge, GALEN_SOURCE_DIR "/knowledge", "Where sentences come from.");

ABSL_FLAG(std::string, benchmark_min_time, "", "What `make bench` gives every benchmark; unused.");

namespace galen::bench {
namespace {

using namespace incident_history;  // NOLINT(google-build-using-namespace)

double Wall() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double Cpu() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double ProcessCpu() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
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
  double Median() const { return At(cpu, 0.5); }
  void Print(const std::string& name) const {
    std::printf("%-34s p50 %7.3f  p99 %7.3f ms   processor time p50 %7.3f  p99 %7.3f ms\n",
                name.c_str(), At(wall, 0.5), At(wall, 0.99), At(cpu, 0.5), At(cpu, 0.99));
    std::fflush(stdout);
  }
};

double Peak() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double ResidentMib() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long total = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(resident) * 4096 / (1 << 20);
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

// Share of pages of the file that the system holds.
double Cached(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  const auto size = static_cast<size_t>(std::filesystem::file_size(path));
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  std::vector<unsigned char> pages(size / 4096 + 1);
  mincore(data, size, pages.data());
  munmap(data, size);
  close(fd);
  const auto held = std::count_if(pages.begin(), pages.end(), [](auto page) { return page & 1; });
  return static_cast<double>(held) / static_cast<double>(pages.size());
}

void DropFromCache(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  fdatasync(fd);
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  close(fd);
}

// Every vector, one after the other, without any of the library's ways to be quick.
std::vector<Scored> BruteForce(const Segment& segment, const Vector& query, size_t most) {
  std::vector<Scored> all;
  for (std::uint32_t i = 0; i < segment.documents(); ++i) {
    std::int32_t product = 0;
    const std::int8_t* row = segment.vectors() + i * segment.stride();
    for (size_t k = 0; k < query.values.size(); ++k) product += query.values[k] * row[k];
    const float score = static_cast<float>(product) * query.scale * segment.scales()[i];
    if (score > 0) all.push_back({0, i, score});
  }
  const size_t kept = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    Better);
  all.resize(kept);
  return all;
}

// The share of the first `most` of `truth` that is in `found`; equal scores are interchangeable.
double Recall(const std::vector<Scored>& found, const std::vector<Scored>& truth, size_t most) {
  const size_t wanted = std::min(most, truth.size());
  if (wanted == 0) return 1;
  const float least = truth[wanted - 1].score * 0.9999F;  // floats are summed in another order
  size_t good = 0;
  for (size_t i = 0; i < std::min(wanted, found.size()); ++i) good += found[i].score >= least;
  return static_cast<double>(good) / static_cast<double>(wanted);
}

// BM25 of every document, without leaving anything out.
std::vector<Scored> AllWords(const Segment& segment, const View& view,
                             const std::vector<QueryTerm>& terms, size_t most) {
  std::vector<double> scores(segment.documents());
  for (const QueryTerm& term : terms) {
    const std::uint32_t number = segment.FindTerm(term.hash);
    for (auto c = segment.chunk_begin(number); c < segment.chunk_end(number); ++c) {
      const Segment::Chunk chunk = segment.chunk(c);
      for (size_t i = 0; i < chunk.documents.size(); ++i) {
        const size_t document = chunk.range * format::kRange + chunk.documents[i];
        const double count = chunk.counts[i];
        scores[document] += term.weight * count * (kBm25Saturation + 1) /
                            (count + kBm25Saturation * (1 - kBm25Length +
                                                        kBm25Length * segment.lengths()[document] /
                                                            view.mean_length()));
      }
    }
  }
  std::vector<Scored> all;
  for (std::uint32_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > 0) all.push_back({0, i, static_cast<float>(scores[i])});
  }
  const size_t kept = std::min(most, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(),
                    Better);
  all.resize(kept);
  return all;
}

int Run() {
  const std::uint32_t documents = absl::GetFlag(FLAGS_documents);
  const std::string directory = absl::GetFlag(FLAGS_directory);
  std::filesystem::remove_all(directory);
  std::filesystem::create_directories(directory);
  const std::string sentences = absl::GetFlag(FLAGS_knowledge);
  const auto knowledge = Must(knowledge::Load({sentences}, {.cache_directory = ""}));
  const Corpus corpus(*knowledge);
  const HashedEmbedder embedder;
  std::printf("%u past incidents; resident before %.0f MiB\n", documents, ResidentMib());
  std::printf("for example:\n%s\n", corpus.Ticket(4711).text.c_str());

  // Building.
  const std::string made = directory + "/made";
  const std::string keep = absl::GetFlag(FLAGS_keep);
  if (const std::string before = absl::GetFlag(FLAGS_segment); !before.empty()) {
    std::filesystem::create_hard_link(before, made);
  } else {
    const auto builder = Must(SegmentBuilder::ToFile(made, embedder.name(), embedder.dimensions()));
    double added = 0;
    std::uint64_t text_bytes = 0;
    for (std::uint32_t i = 0; i < documents; ++i) {
      const Document ticket = corpus.Ticket(i);
      text_bytes += ticket.text.size();
      const double begin = Wall();
      Must(builder->Add(ticket, embedder));
      added += Wall() - begin;
    }
    const double begin = Wall();
    const double cpu = ProcessCpu();
    BuildOptions options;
    options.graph.threads = absl::GetFlag(FLAGS_threads);
    options.graph.links = absl::GetFlag(FLAGS_links);
    options.graph.effort = absl::GetFlag(FLAGS_graph_effort);
    Must(builder->Finish(options));
    std::printf(
        "build: words and vectors %.1f s, writing and graph %.1f s (processor time %.1f s), "
        "peak %.0f MiB\ntext %.0f bytes a document\n",
        added, Wall() - begin, ProcessCpu() - cpu, Peak(),
        static_cast<double>(text_bytes) / documents);
  }
  if (!keep.empty()) std::filesystem::create_hard_link(made, keep);
  const auto size = static_cast<double>(std::filesystem::file_size(made));
  std::printf("file: %.1f MiB, %.0f bytes a document\n", size / (1 << 20), size / documents);
  std::fflush(stdout);

  // Ready from a cold file.
  Must(Store::Import(made, directory + "/store"));
  const std::string path = directory + "/store/segment-1";
  Times cold;
  Times first;
  for (int i = 0; i < 11; ++i) {
    DropFromCache(path);
    const double cached = Cached(path);
    auto store = cold.Measure(
        [&] { return Must(Store::Open(directory + "/store", embedder, {.compact_after = 0})); });
    const std::string question = corpus.Question(static_cast<std::uint32_t>(i) * 97, false);
    const View view = store->view();
    first.Measure([&] { return Search(view, embedder, question); });
    if (i == 0) std::printf("pages of the file in memory before opening: %.4f\n", cached);
  }
  cold.Print("open a cold file");
  first.Print("first question after that");

  const auto store = Must(Store::Open(directory + "/store", embedder, {.compact_after = 0}));
  const View view = store->view();
  const Segment& segment = *view.segments()[0];

  std::vector<std::string> questions;
  std::vector<std::vector<QueryTerm>> terms;
  std::vector<Vector> vectors;
  double words = 0;
  for (std::uint32_t i = 0; i < absl::GetFlag(FLAGS_queries); ++i) {
    const auto about = static_cast<std::uint32_t>(Mix(i + 5) % documents);
    questions.push_back(corpus.Question(about, i % 2 == 1));
    terms.push_back(QueryTerms(view, questions.back()));
    vectors.push_back(Must(embedder.EmbedQuery(questions.back(), [&](std::uint64_t term) {
      return view.Rarity(view.TermDocuments(term));
    })));
    words += static_cast<double>(terms.back().size());
  }
  std::printf("%zu questions, %.1f different words each\n", questions.size(),
              words / static_cast<double>(questions.size()));

  // Right? As a search asks: the vectors after the words, whose finds lead into the graph.
  double lexical = 0;
  double dense = 0;
  double dense2 = 0;
  struct Way {
    std::size_t effort;
    bool seeded;
    double recall[2] = {0, 0};  // tickets, brief ones
    Times times;
  };
  std::vector<Way> ways;
  for (const size_t effort : {128, 256, 512, 1024, 2048}) {
    for (const bool seeded : {true, false}) ways.push_back({effort, seeded, {0, 0}, {}});
  }
  const size_t compared = std::min<size_t>(absl::GetFlag(FLAGS_truth), questions.size()) / 2 * 2;
  const bool graph = segment.header().graph_documents > 0;
  for (size_t i = 0; i < compared; ++i) {
    const std::vector<Scored> worded = SearchWords(view, terms[i], 128);
    lexical += Recall(worded, AllWords(segment, view, terms[i], 10), 10);
    const std::vector<Scored> truth = BruteForce(segment, vectors[i], 10);
    const auto ask = [&](DenseOptions options) {
      return SearchVectors(view, vectors[i], embedder.name(), 128, options);
    };
    const std::vector<Scored> found = ask({.seeds = worded});
    dense += Recall(found, truth, 10);
    dense2 += Recall(found, truth, 2);
    for (Way& way : ways) {
      if (!graph) break;
      DenseOptions options{.effort = way.effort};
      if (way.seeded) options.seeds = worded;
      way.recall[i % 2] += Recall(way.times.Measure([&] { return ask(options); }), truth, 2);
    }
  }
  const auto share = [&](double sum) { return sum / static_cast<double>(compared); };
  std::printf("words: recall@10 %.5f against every document (equal within rounding)\n",
              share(lexical));
  std::printf("vectors: recall@2 %.5f, recall@10 %.5f against brute force, as a search asks\n",
              share(dense2), share(dense));
  for (const Way& way : ways) {
    if (!graph) break;
    way.times.Print(absl::StrCat("graph, effort ", way.effort, way.seeded ? ", from words" : ""));
    std::printf("    recall@2 %.4f: tickets %.4f, brief %.4f\n",
                share(way.recall[0] + way.recall[1]), 2 * share(way.recall[0]),
                2 * share(way.recall[1]));
  }
  if (absl::GetFlag(FLAGS_floats)) {
    std::vector<float> rows(static_cast<size_t>(documents) * HashedEmbedder::kDimensions);
    const auto normal = [](std::vector<float> v) {
      double square = 0;
      for (const float x : v) square += static_cast<double>(x) * x;
      for (float& x : v) x = static_cast<float>(x / std::sqrt(std::max(square, 1e-30)));
      return v;
    };
    for (std::uint32_t i = 0; i < documents; ++i) {
      const auto v = normal(HashedEmbedder::Components(corpus.Ticket(i).text, nullptr));
      std::copy(v.begin(), v.end(), rows.begin() + std::ptrdiff_t{i} * 256);
    }
    double at2 = 0;
    double among = 0;
    const size_t floats = std::min<size_t>(compared, 200);
    for (size_t q = 0; q < floats; ++q) {
      const auto rare = [&](std::uint64_t term) { return view.Rarity(view.TermDocuments(term)); };
      const Rarity rarity = rare;
      const auto v = normal(HashedEmbedder::Components(questions[q], &rarity));
      Top top(2);
      for (std::uint32_t i = 0; i < documents; ++i) {
        float sum = 0;
        for (size_t k = 0; k < 256; ++k) sum += v[k] * rows[std::size_t{i} * 256 + k];
        top.Offer({0, i, sum});
      }
      const auto truth = top.Take();
      const auto found = SearchVectors(view, vectors[q], embedder.name(), 128, {.exact = true});
      for (size_t t = 0; t < truth.size(); ++t) {
        for (size_t f = 0; f < found.size(); ++f) {
          if (found[f].document != truth[t].document) continue;
          among += 1;
          at2 += f < 2;
        }
      }
    }
    std::printf(
        "rounded against unrounded vectors: recall@2 %.4f, its first two among the 128 that "
        "a search asks for %.4f\n",
        at2 / static_cast<double>(2 * floats), among / static_cast<double>(2 * floats));
  }

#ifdef GALEN_HAS_XAPIAN
  std::unique_ptr<XapianIndex> xapian;
  std::vector<std::vector<std::string>> query_words;
  if (absl::GetFlag(FLAGS_xapian)) {
    xapian = std::make_unique<XapianIndex>(directory + "/xapian");
    for (std::uint32_t i = 0; i < documents; ++i) xapian->Add(Tokens(corpus.Ticket(i).text));
    xapian->Finish();
    std::printf("xapian: %.1f MiB\n", static_cast<double>(xapian->bytes()) / (1 << 20));
    for (const std::string& question : questions) {
      const std::vector<std::string> tokens = Tokens(question);
      const std::set<std::string> distinct(tokens.begin(), tokens.end());
      query_words.emplace_back(distinct.begin(), distinct.end());
    }
  }
#endif

  // How quick?
  Times whole;
  Times scan;
  Times exact;
  Times embed;
  struct Beside {
    Times ours;
    Times theirs;
    std::vector<double> ratios;  // round by round
  };
  std::map<std::string, Beside> beside;
  double agree = 0;
  double agree_of = 0;
  for (int round = 0; round < absl::GetFlag(FLAGS_rounds); ++round) {
    std::map<std::string, std::pair<double, double>> sums;
    for (size_t i = 0; i < questions.size(); ++i) {
      whole.Measure([&] { return Search(view, embedder, questions[i]); });
      embed.Measure([&] {
        return Must(embedder.EmbedQuery(questions[i], [&](std::uint64_t term) {
          return view.Rarity(view.TermDocuments(term));
        }));
      });
      const std::vector<Scored> worded = SearchWords(view, terms[i], 128);
      scan.Measure(
          [&] { return SearchVectors(view, vectors[i], embedder.name(), 128, {.seeds = worded}); });
      if (segment.header().graph_documents > 0 && i % 10 == 0) {
        exact.Measure(
            [&] { return SearchVectors(view, vectors[i], embedder.name(), 128, {.exact = true}); });
      }
      for (const size_t most : {10, 128}) {
        const std::string kind = absl::StrCat(i % 2 == 0 ? "ticket" : "brief", ", best ", most);
        Beside& both = beside[kind];
        const auto mine = both.ours.Measure(
            [&] { return SearchWords(view, QueryTerms(view, questions[i]), most); });
        sums[kind].first += both.ours.cpu.back();
#ifdef GALEN_HAS_XAPIAN
        if (xapian == nullptr) continue;
        const auto theirs =
            both.theirs.Measure([&] { return xapian->Search(query_words[i], most); });
        sums[kind].second += both.theirs.cpu.back();
        if (round == 0 && most == 10) {
          for (const Scored& scored : mine) {
            agree += std::find(theirs.begin(), theirs.end(), scored.document) != theirs.end();
          }
          agree_of += static_cast<double>(mine.size());
        }
#endif
      }
    }
    for (const auto& [kind, sum] : sums) {
      if (sum.second > 0) beside[kind].ratios.push_back(sum.second / sum.first);
    }
  }
  whole.Print("a whole search");
  embed.Print("  of it: the question's vector");
  scan.Print("  of it: 128 best vectors");
  if (!exact.cpu.empty()) exact.Print("  the same by looking at each");
  for (auto& [kind, both] : beside) {
    both.ours.Print(absl::StrCat("words (", kind, ")"));
    if (both.ratios.empty()) continue;
    both.theirs.Print(absl::StrCat("  Xapian (", kind, ")"));
    std::sort(both.ratios.begin(), both.ratios.end());
    std::printf("  Xapian / ours, sum of a round: min %.1f  median %.1f  max %.1f\n",
                both.ratios.front(), both.ratios[both.ratios.size() / 2], both.ratios.back());
  }
  if (agree_of > 0) std::printf("of the best ten, Xapian's too: %.4f\n", agree / agree_of);
  std::printf("resident at the end %.0f MiB\n", ResidentMib());

  // Adding.
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
