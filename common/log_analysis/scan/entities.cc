#include "common/log_analysis/scan/entities.h"

#include <arpa/inet.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/re2_piece.h"

namespace galen::log_scan {
namespace {

using v1::Entity;

// A text form of one kind of entity; group 1 is the value.
struct Form {
  Entity::Kind kind;
  const char* pattern;
};

constexpr std::array<Form, 9> kForms = {{
    {Entity::GPU, R"((?i)\bgpu[ #:_]?(\d{1,3})\b)"},
    {Entity::GPU, R"((?i)\bcuda(?::| device )(\d{1,3})\b)"},
    // The prefix of every NCCL line: host, process, thread, GPU.
    {Entity::GPU, R"(:\d+:\d+ \[(\d{1,3})\] )"},
    {Entity::RANK, R"((?i)\branks?[ :=\]]{0,3}(\d{1,7})\b)"},
    {Entity::RANK, R"((?i)\[rank(\d{1,7})\])"},
    {Entity::NIC,
     R"(\b(mlx\d_(?:bond_)?\d+|(?:eth|ib|bond|hsn|rdma|bnxt_re|irdma|efa|mana_|ionic_)\d+)"
     R"(|(?:en|ib|roce)(?:o|s|p|P)\d[0-9a-zA-Z]*)\b)"},
    {Entity::XID, R"((?i)\bxid \(pci:[^)]{1,32}\): (\d{1,4})\b)"},
    {Entity::XID, R"((?i)\bxid(?: error)?[ :#=]{0,2}(\d{1,4})\b)"},
    {Entity::PCI,
     R"(\b((?:[0-9a-fA-F]{4}){1,2}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?)(?:[^:0-9a-zA-Z]|$))"},
}};

struct CompiledForm {
  Entity::Kind kind;
  RE2 pattern;
};

// Foreign text is bytes.
RE2::Options Bytes() { return RE2::Options(RE2::Latin1); }

const std::vector<const CompiledForm*>& Forms() {
  static const auto* const forms = [] {
    auto* list = new std::vector<const CompiledForm*>();
    for (const Form& form : kForms) {
      list->push_back(new CompiledForm{form.kind, RE2(form.pattern, Bytes())});
    }
    return list;
  }();
  return *forms;
}

bool IsAddress(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> address;
  return inet_pton(family, text.c_str(), address.data()) == 1;
}

// "00000000:B3:00.0", "0000:b3:00" → "0000:b3:00.0"
std::string PciAddress(std::string text) {
  absl::AsciiStrToLower(&text);
  if (text.find('.') == std::string::npos) text += ".0";
  const std::size_t domain = text.find(':');
  if (domain == 8 && absl::StartsWith(text, "0000")) text.erase(0, 4);
  return text;
}

// Dates and C++ names look like short IPv6 addresses; those that logs print do not.
bool LooksLikeIpv6(absl::string_view text) {
  return !absl::EndsWith(text, "::") && (absl::StartsWithIgnoreCase(text, "fe80:") ||
                                         std::count(text.begin(), text.end(), ':') >= 3);
}

std::string Number(absl::string_view digits) {
  std::int64_t value = 0;
  return absl::SimpleAtoi(digits, &value) ? absl::StrCat(value) : std::string(digits);
}

bool IsNumber(Entity::Kind kind) {
  return kind == Entity::GPU || kind == Entity::RANK || kind == Entity::PORT || kind == Entity::XID;
}

bool InHostName(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
}

}  // namespace

EntityCollector::EntityCollector(absl::Span<const std::string> nodes)
    : nodes_(nodes.begin(), nodes.end()) {}

void EntityCollector::Add(absl::string_view text, absl::string_view source, std::int64_t line) {
  for (const absl::string_view piece : absl::StrSplit(text, '\n')) {
    AddLine(piece, source, line++);
  }
}

void EntityCollector::AddLine(absl::string_view text, absl::string_view source, std::int64_t line) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && InHostName(text[end])) ++end;
    absl::string_view word = text.substr(i, end - i);
    i = end + 1;
    while (absl::ConsumeSuffix(&word, ".")) {
    }
    if (nodes_.contains(word)) {
      Count(Entity::NODE, std::string(word), source, line);
    } else if (const std::size_t dot = word.find('.');
               dot != absl::string_view::npos && nodes_.contains(word.substr(0, dot))) {
      Count(Entity::NODE, std::string(word.substr(0, dot)), source, line);
    }
  }

  std::string value;
  std::string port;
  for (const CompiledForm* form : Forms()) {
    re2::StringPiece rest = Piece(text);
    while (RE2::FindAndConsume(&rest, form->pattern, &value)) {
      if (form->kind == Entity::PCI) value = PciAddress(value);
      if (IsNumber(form->kind)) value = Number(value);
      Count(form->kind, value, source, line);
    }
  }

  static const RE2* const kIpv4 =
      new RE2(R"((?:^|[^0-9A-Za-z.])((?:\d{1,3}\.){3}\d{1,3})(?:[<:](\d{1,5}))?)"
              R"((?:[^0-9A-Za-z.]|\.[^0-9]|\.?$))",
              Bytes());
  static const RE2* const kIpv6 =
      new RE2(R"((?:^|[^0-9A-Za-z:.])([0-9A-Fa-f:]{2,39})(?:%\w{1,16})?\]?(?:(?:<|\]:)(\d{1,5}))?)"
              R"((?:[^0-9A-Za-z:.]|\.[^0-9]|\.?$))",
              Bytes());
  for (const RE2* pattern : {kIpv4, kIpv6}) {
    const int family = pattern == kIpv4 ? AF_INET : AF_INET6;
    re2::StringPiece rest = Piece(text);
    while (RE2::FindAndConsume(&rest, *pattern, &value, &port)) {
      // The byte that ended this address may be the one that has to stand before the next.
      if (!rest.empty()) rest = re2::StringPiece(rest.data() - 1, rest.size() + 1);
      if (!IsAddress(family, value) || (family == AF_INET6 && !LooksLikeIpv6(value))) continue;
      Count(Entity::ADDRESS, value, source, line);
      std::int32_t number = 0;
      if (absl::SimpleAtoi(port, &number) && number > 0 && number <= 65535) {
        Count(Entity::PORT, absl::StrCat(number), source, line);
      }
    }
  }
}

void EntityCollector::Count(Entity::Kind kind, std::string value, absl::string_view source,
                            std::int64_t line) {
  const std::size_t length = IsNumber(kind) ? value.size() : 0;
  const auto key = std::make_pair(static_cast<int>(kind), std::make_pair(length, value));
  const auto at = found_.find(key);
  if (at != found_.end()) {
    at->second.set_count(at->second.count() + 1);
    return;
  }
  if (found_.size() >= kMaxEntities) return;
  Entity& entity = found_[key];
  entity.set_kind(kind);
  entity.set_value(std::move(value));
  entity.set_source(std::string(source));
  entity.set_line(line);
  entity.set_count(1);
}

std::vector<Entity> EntityCollector::Take() && {
  std::vector<Entity> result;
  result.reserve(found_.size());
  for (auto& [key, entity] : found_) result.push_back(std::move(entity));
  return result;
}

}  // namespace galen::log_scan
