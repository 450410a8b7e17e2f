#include "services/node/checks/log/nccl_log.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "common/base/re2_piece.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "re2/re2.h"
#include "services/node/checks/system/wanted_lines.h"

namespace galen::node {
namespace {

void Insert(std::set<std::string>* set, absl::string_view value) {
  if (set->size() < NcclHost::kMax) set->insert(CleanText(value, 128));
}

void Merge(const NcclHost& from, NcclHost* into) {
  for (const std::string& network : from.networks) Insert(&into->networks, network);
  if (into->devices.empty()) into->devices = from.devices;
  if (into->interface.empty()) into->interface = from.interface;
  into->gdr_channels += from.gdr_channels;
  into->net_channels += from.net_channels;
  if (from.gdr_said.has_value()) into->gdr_said = into->gdr_said.value_or(true) && *from.gdr_said;
  if (into->warning.empty()) {
    into->warning = from.warning;
    into->warning_rank = from.warning_rank;
  }
  into->warnings += from.warnings;
  if (into->async_event.empty()) into->async_event = from.async_event;
}

absl::string_view Short(absl::string_view name) { return name.substr(0, name.find('.')); }

v1::LogEvent Event(absl::string_view code, absl::string_view text, std::int64_t count) {
  v1::LogEvent event;
  if (text.empty()) return event;
  event.set_code(std::string(code));
  event.set_text(CleanText(text, 512));
  event.set_count(std::max<std::int64_t>(count, 1));
  return event;
}

// "[0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB ..." without numbers and what follows.
std::string DeviceNamesOf(absl::string_view text) {
  static const RE2 device(R"(\[\d+\]([^\s;]+))");
  re2::StringPiece rest = Piece(text.substr(0, text.find(';')));
  std::vector<std::string> names;
  std::string name;
  while (names.size() < 64 && RE2::FindAndConsume(&rest, device, &name)) names.push_back(name);
  return absl::StrJoin(names, " ");
}

// "host:pid:tid [gpu] NCCL INFO text", possibly behind a launcher's prefix, and with a place in the
// source: "host:pid:tid [gpu] misc/socket.cc:50 NCCL WARN text".
struct Heading {
  absl::string_view host;
  absl::string_view pid;
  bool warns = false;
  absl::string_view text;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Takes one to `most` characters that `is` holds for off the end of `text`, as many as there
// are; false when they are too few or too many.
template <typename Is>
bool TakeBack(absl::string_view* text, std::size_t most, Is is,
              absl::string_view* taken = nullptr) {
  std::size_t n = 0;
  while (n < text->size() && is((*text)[text->size() - 1 - n])) ++n;
  if (n == 0 || n > most) return false;
  if (taken != nullptr) *taken = text->substr(text->size() - n);
  text->remove_suffix(n);
  return true;
}

// By hand, since a log may hold millions of such lines.
std::optional<Heading> HeadingOf(absl::string_view line) {
  constexpr std::size_t kMostDigits = 10;
  constexpr std::size_t kLongestHost = 255;
  constexpr absl::string_view kPrefix = "NCCL ";
  for (std::size_t at = line.find(kPrefix); at != absl::string_view::npos;
       at = line.find(kPrefix, at + 1)) {
    Heading heading;
    heading.text = line.substr(at + kPrefix.size());
    heading.warns = absl::ConsumePrefix(&heading.text, "WARN");
    if (!heading.warns && !absl::ConsumePrefix(&heading.text, "INFO")) continue;
    absl::ConsumePrefix(&heading.text, " ");
    absl::string_view before = line.substr(0, at);
    if (!absl::EndsWith(before, "] ")) {
      // A place in the source.
      if (!absl::ConsumeSuffix(&before, " ") || !TakeBack(&before, before.size(), IsDigit) ||
          !absl::ConsumeSuffix(&before, ":") ||
          !TakeBack(&before, before.size(), [](char c) { return c != ' '; })) {
        continue;
      }
    }
    const auto is_name = [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
    };
    absl::string_view host;
    if (!absl::ConsumeSuffix(&before, "] ") || !TakeBack(&before, 3, IsDigit) ||
        !absl::ConsumeSuffix(&before, " [") || !TakeBack(&before, kMostDigits, IsDigit) ||
        !absl::ConsumeSuffix(&before, ":") ||
        !TakeBack(&before, kMostDigits, IsDigit, &heading.pid) ||
        !absl::ConsumeSuffix(&before, ":") || !TakeBack(&before, before.size(), is_name, &host)) {
      continue;
    }
    if (host.size() > kLongestHost) host.remove_prefix(host.size() - kLongestHost);
    while (!host.empty() && !absl::ascii_isalnum(static_cast<unsigned char>(host[0]))) {
      host.remove_prefix(1);
    }
    if (host.empty()) continue;
    heading.host = host;
    return heading;
  }
  return std::nullopt;
}

// Whether `text` contains a word that every line relevant to NcclLog::Add() has.
bool MayMatter(absl::string_view text) {
  for (const absl::string_view word : {"via NET/", "comm 0x", "Using", "NET/", "lugin",
                                       "GPU Direct RDMA", "Bootstrap", "Got async event"}) {
    if (absl::StrContains(text, word)) return true;
  }
  return false;
}

}  // namespace

void NcclLog::Add(absl::string_view line, int log) {
  if (!absl::StrContains(line, "NCCL")) return;
  static const RE2 release(R"(\b(?:NCCL|RCCL) version:? ?(\d[\w.+-]*))");
  if (version_.empty() && absl::StrContains(line, "CCL version")) {
    RE2::PartialMatch(Piece(line), release, &version_);
  }
  const std::optional<Heading> heading = HeadingOf(line);
  // A warning names its place first: "[1] include/socket.h:403 NCCL WARN".
  if (!heading.has_value()) return;
  ++lines_;
  const std::string name(heading->host);
  if (hosts_.size() >= kMaxHosts && !hosts_.contains(name)) return;
  NcclHost& host = hosts_[name];
  const absl::string_view text = heading->text;
  const auto process = [&] { return absl::StrCat(name, ":", heading->pid); };
  const auto rank_of = [&]() -> std::optional<int> {
    const auto found = rank_of_process_.find(process());
    if (found == rank_of_process_.end()) return std::nullopt;
    return found->second;
  };
  // Logs are few: what more of them say of plug-ins adds nothing.
  const auto name_plugin = [&](absl::string_view plugin) {
    if (host.plugins.size() < NcclHost::kMax) Insert(&host.plugins[log], plugin);
  };
  if (heading->warns) {
    ++host.warnings;
    if (host.warning.empty()) {
      host.warning = CleanText(text, 400);
      host.warning_rank = rank_of();
    }
    if (!first_error_rank_.has_value()) first_error_rank_ = rank_of();
    if (absl::StrContains(text, "async event")) host.async_event = CleanText(text, 400);
    return;
  }
  // Most lines, by the million, describe channels within a node.
  if (!MayMatter(text)) return;
  std::string value;
  std::string level;
  re2::StringPiece rest;
  int number = 0;
  int from = 0;
  static const RE2 comm(R"(comm 0x[0-9a-f]+ rank (\d{1,7}) n[rR]anks (\d{1,7}))");
  int ranks = 0;
  if (RE2::PartialMatch(Piece(text), comm, &number, &ranks)) {
    if (ranks > most_ranks_) {
      most_ranks_ = ranks;
      ranks_of_most_.clear();
    }
    if (ranks == most_ranks_ && ranks_of_most_.size() < kMaxHosts) ranks_of_most_.insert(number);
    if (rank_of_process_.size() < std::size_t{262'144}) rank_of_process_[process()] = number;
    if (absl::StrContains(text, "Init COMPLETE")) initialised_.insert(name);
    return;
  }
  static const RE2 using_network(R"(^Using network (.+?)\s*$)");
  // Since 2.7 with the GPU of each rank, before "Ring 00 : 7 -> 8 [send] via NET/IB/0/GDRDMA".
  static const RE2 via(
      R"(: (\d{1,7})(?:\[\w+\])? -> \d+(?:\[\w+\])?(?: \[(send|receive)\])? via NET/([^/]{1,64})/(\d{1,4})(\S*))");
  // The plug-in's own word (HPC-X, OFI), and NCCL's since 2.19 and since 2.27. IB and Socket are
  // those built in.
  static const RE2 plugin(
      R"((?:Loaded net plugin|P2P plugin|Using NET plugin|NET/Plugin: Using|^Initialized NET plugin) (.{1,64}?)(?: \(v\d+\))?\s*$)");
  static const RE2 no_plugin(
      R"(NET/Plugin ?: (?:No plugin found|.*[Uu]sing internal (?:network|implementation)))");
  static const RE2 plugin_path(R"(^Plugin Path : (?:\S*/)?([^/\s]+)\s*$)");
  // "NET/IB : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'". The form for a pair, "Disabled for GPU 7
  // / HCA 0 (distance 6 >= 4)", only says which NIC is near a GPU.
  static const RE2 adapter_direct(
      R"(GPU Direct RDMA (?:\([\w -]+\) )?([Ee]nabled|[Dd]isabled) for HCA \d)");
  static const RE2 ofi_without(
      R"(NET/OFI .*(?:GDR|GPUDirect).*(?:disabled|not support|unsupport))");
  static const RE2 ofi(R"(NET/OFI (?:Initializing|Using) (aws-ofi-[nr]ccl \S+))");
  static const RE2 bootstrap(R"(Bootstrap ?: Using (?:\[0\])?([^\s<]+))");
  if (RE2::PartialMatch(Piece(text), via, &from, &level, &value, &number, &rest)) {
    over_network_ = true;
    const bool direct = absl::StrContains(absl::string_view(rest.data(), rest.size()), "GDRDMA");
    if (value != "Socket") ++(direct ? host.gdr_channels : host.net_channels);
    if (level == "send" && host.ranks_of_nic.size() < 64 && host.ranks_of_nic[number].size() < 64) {
      host.ranks_of_nic[number].insert(from);
    }
  } else if (RE2::PartialMatch(Piece(text), using_network, &value)) {
    Insert(&host.networks, value);
  } else if (absl::StrContains(text, "NET/OFI") && RE2::PartialMatch(Piece(text), ofi_without)) {
    host.gdr_said = false;
  } else if (RE2::PartialMatch(Piece(text), no_plugin)) {
    name_plugin("internal");
  } else if (RE2::PartialMatch(Piece(text), plugin_path, &value)) {
    // The plug-in then names itself; only one that does not is called by its file.
    if (host.plugins[log].empty()) name_plugin(value);
  } else if (RE2::PartialMatch(Piece(text), ofi, &value) ||
             RE2::PartialMatch(Piece(text), plugin, &value)) {
    std::set<std::string>& names = host.plugins[log];
    if (names.size() == 1 && absl::EndsWith(*names.begin(), ".so")) names.clear();
    name_plugin(value == "IB" || value == "Socket" ? "internal" : value);
  } else if (RE2::PartialMatch(Piece(text), bootstrap, &value)) {
    if (host.interface.empty()) host.interface = CleanText(value, 128);
  } else if (absl::StrContains(text, "NET/IB : Using")) {
    if (host.devices.empty()) host.devices = DeviceNamesOf(text);
  } else if (RE2::PartialMatch(Piece(text), adapter_direct, &value)) {
    host.gdr_said = absl::EqualsIgnoreCase(value, "enabled") && host.gdr_said.value_or(true);
  } else if (absl::StrContains(text, "Got async event") && host.async_event.empty()) {
    host.async_event = CleanText(text, 400);
  }
}

std::string NcclLog::Plugins() const {
  // By log, which hosts load what.
  std::map<int, std::map<std::string, std::vector<std::string>>> runs;
  std::map<int, int> hosts_of_run;
  for (const auto& [name, host] : hosts_) {
    for (const auto& [log, plugins] : host.plugins) {
      if (plugins.empty()) continue;
      runs[log][absl::StrJoin(plugins, "+")].push_back(name);
      ++hosts_of_run[log];
    }
  }
  if (runs.empty()) return "";
  if (absl::c_all_of(hosts_of_run, [](const auto& run) { return run.second == 1; })) {
    std::map<std::string, std::vector<std::string>> all;
    for (auto& [log, hosts_by_plugin] : runs) {
      for (auto& [plugin, names] : hosts_by_plugin) {
        std::vector<std::string>& into = all[plugin];
        if (!absl::c_linear_search(into, names.front())) into.push_back(names.front());
      }
    }
    runs.clear();
    runs[0] = std::move(all);
  }
  for (const auto& [log, hosts_by_plugin] : runs) {
    if (hosts_by_plugin.size() < 2) continue;
    std::vector<std::string> each;
    for (const auto& [plugin, names] : hosts_by_plugin) {
      each.push_back(absl::StrCat(plugin, " on ", names.size(), " hosts (", names.front(),
                                  names.size() > 1 ? ", ..." : "", ")"));
    }
    return absl::StrJoin(each, "; ");
  }
  return "same";
}

NcclHost NcclLog::Of(absl::string_view node) const {
  NcclHost all;
  for (const auto& [name, host] : hosts_) {
    if (Short(name) == Short(node)) return host;
    Merge(host, &all);
  }
  // If several hosts have other names, no NIC can be attributed to this one.
  return all;
}

bool NcclLog::IsOnOneMachine() const {
  return hosts_.size() == 1 && most_ranks_ > 0 && !over_network_ &&
         ranks_of_most_.size() == static_cast<std::size_t>(most_ranks_);
}

std::optional<bool> NcclLog::AddressShared() const {
  std::map<std::string, int> hosts_of;
  int known = 0;
  for (const auto& [name, host] : hosts_) {
    const std::size_t colon = host.interface.find(':');
    if (colon == std::string::npos) continue;
    ++known;
    if (++hosts_of[host.interface.substr(colon + 1)] > 1) return true;
  }
  if (known < 2) return std::nullopt;
  return false;
}

namespace {

class NcclLogFold final : public LogFold {
 public:
  void Add(const LogLine& line) override {
    // A topology file is not a log.
    if (absl::EndsWith(line.log->name, ".xml")) return;
    const int next = static_cast<int>(numbers_.size());
    log_.Add(line.text, numbers_.try_emplace(line.log, next).first->second);
  }
  const NcclLog& log() const { return log_; }

 private:
  NcclLog log_;
  std::map<const host::JobLog*, int> numbers_;
};

}  // namespace

const LogWant kNcclLogWant = {
    .name = "nccl",
    .expressions = [](const knowledge::Knowledge&) -> std::vector<std::string> {
      return {"NCCL (?:INFO|WARN)", R"(CCL version:? ?\d)"};
    },
    .fold = [](const FoldBasis&) -> std::unique_ptr<LogFold> {
      return std::make_unique<NcclLogFold>();
    }};

absl::StatusOr<std::shared_ptr<const NcclLog>> ReadNcclLog(const CheckContext& context) {
  GALEN_ASSIGN_OR_RETURN(const FoldedLogs folded, FoldLogs(context, kNcclLogWant));
  const std::shared_ptr<const NcclLogFold> fold = FoldAs<NcclLogFold>(folded);
  return std::shared_ptr<const NcclLog>(fold, &fold->log());
}

absl::StatusOr<CheckOutput> CheckNcclLog(const CheckContext& context) {
  const host::Host& host = context.host;
  const std::string& node = host.name();
  GALEN_ASSIGN_OR_RETURN(const std::shared_ptr<const NcclLog> read, ReadNcclLog(context));
  const NcclLog& log = *read;
  if (log.lines() == 0 && log.version().empty()) {
    return absl::FailedPreconditionError(
        "the job's logs hold no line of NCCL; run it with NCCL_DEBUG=INFO");
  }
  const NcclHost own = log.Of(node);
  CheckOutput output;
  const auto add = [&](v1::Finding finding) { output.findings.push_back(std::move(finding)); };
  const auto text = [&](const char* name, const std::string& value) {
    add(value.empty() ? UnknownFinding(name, node, "") : TextFinding(name, node, "", value));
  };
  if (own.networks.empty()) add(UnknownFinding("transport", node, ""));
  for (const std::string& network : own.networks) add(TextFinding("transport", node, "", network));
  std::optional<bool> gdr;
  if (own.gdr_channels > 0) {
    gdr = true;
  } else if (own.net_channels > 0) {
    gdr = false;
  } else {
    gdr = own.gdr_said;
  }
  add(log.IsOnOneMachine() ? TextFinding("reach", node, "", "one machine")
                           : UnknownFinding("reach", node, ""));
  add(gdr.has_value() ? BoolFinding("gdr", node, "", *gdr) : UnknownFinding("gdr", node, ""));
  text("version", log.version());

  text("plugin", log.Plugins());
  const std::string device =
      own.warning_rank.has_value() ? absl::StrCat("rank:", *own.warning_rank) : std::string();
  add(EventFinding("warn", node, device, Event("nccl_warn", own.warning, own.warnings)));
  std::string devices = own.devices.empty() ? "" : absl::StrCat("ports ", own.devices);
  if (!own.interface.empty()) {
    absl::StrAppend(&devices, devices.empty() ? "" : "; ", "bootstrap on ", own.interface,
                    log.connected() ? ", routable" : "");
  }
  text("devices", devices);
  if (const auto shared = log.AddressShared(); shared.has_value()) {
    add(BoolFinding("bootstrap_address_shared", node, "", *shared));
  }
  add(log.first_error_rank().has_value()
          ? IntFinding("first_error_rank", node, "", *log.first_error_rank())
          : UnknownFinding("first_error_rank", node, ""));
  add(EventFinding("async_event", node, "", Event("async_event", own.async_event, 1)));
  output.message = absl::StrCat(
      "NCCL ", log.version().empty() ? "of unknown release" : log.version(), ", network ",
      own.networks.empty() ? "unknown" : absl::StrJoin(own.networks, ","),
      !gdr.has_value() ? ""
      : *gdr           ? ", with GPUDirect RDMA"
                       : ", without GPUDirect RDMA",
      own.warning.empty() ? "" : absl::StrCat("; first warning: ", own.warning));
  output.excerpt = own.warning;
  return output;
}

}  // namespace galen::node
