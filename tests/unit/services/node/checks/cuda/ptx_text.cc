#include "tests/unit/services/node/checks/cuda/ptx_text.h"

#include <cctype>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

namespace galen::fake {
namespace {

std::string WithoutComments(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      while (i < text.size() && text[i] != '\n') ++i;
      out += '\n';
    } else {
      out += text[i];
    }
  }
  return out;
}

std::size_t BytesOf(const std::string& type) {
  if (type == ".u64" || type == ".b64" || type == ".f64") return 8;
  if (type == ".u32" || type == ".b32" || type == ".f32") return 4;
  return 0;
}

bool IsWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Words of `line` that begin with a letter, "_", "$" or "%", with the text before them.
std::vector<std::string> Names(const std::string& line) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < line.size();) {
    const bool starts = std::isalpha(static_cast<unsigned char>(line[i])) != 0 || line[i] == '_' ||
                        line[i] == '$' || line[i] == '%';
    const bool within = i > 0 && (IsWord(line[i - 1]) || line[i - 1] == '.');
    std::size_t end = i + 1;
    while (end < line.size() && (IsWord(line[end]) || line[end] == '.' || line[end] == '$')) ++end;
    if (starts && !within) names.push_back(line.substr(i, end - i));
    i = starts ? end : i + 1;
  }
  return names;
}

// The names that the body of an entry uses without a declaration; "" if there are none.
std::string FaultOfBody(const PtxEntry& entry) {
  std::map<std::string, int> registers;  // prefix: how many
  std::set<std::string> symbols;
  std::set<std::string> labels;
  std::istringstream lines(entry.body);
  std::vector<std::string> statements;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first)) continue;
    if (first == ".reg") {
      std::string type;
      std::string name;
      words >> type >> name;
      const std::size_t open = name.find('<');
      registers[name.substr(0, open)] =
          open == std::string::npos ? 1 : std::atoi(name.c_str() + open + 1);
    } else if (first == ".shared") {
      const std::size_t bracket = line.find_first_of("[;");
      const std::size_t start = line.find_last_of(" \t", bracket) + 1;
      symbols.insert(line.substr(start, bracket - start));
    } else if (first == ".local") {
      return "uses local memory";
    } else if (first.back() == ':') {
      labels.insert(first.substr(0, first.size() - 1));
    } else if (first[0] != '.' && first != "{" && first != "}") {
      statements.push_back(line);
    }
  }
  for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
    symbols.insert(entry.name + "_param_" + std::to_string(i));
  }
  for (const std::string& statement : statements) {
    const std::vector<std::string> names = Names(statement);
    bool opcode_seen = false;
    for (const std::string& name : names) {
      if (name[0] == '%') {
        std::size_t digits = name.size();
        while (digits > 0 && std::isdigit(static_cast<unsigned char>(name[digits - 1])) != 0) {
          --digits;
        }
        const auto found = registers.find(name.substr(0, digits));
        static const std::set<std::string> kSpecial = {"%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x",
                                                       "%smid"};
        if (kSpecial.count(name) != 0) continue;
        if (found == registers.end() || digits == name.size() ||
            std::atoi(name.c_str() + digits) >= found->second) {
          return "uses undeclared register " + name;
        }
      } else if (!opcode_seen) {
        opcode_seen = true;
        if (name.rfind("call", 0) == 0) return "calls a function: " + statement;
      } else if (symbols.count(name) == 0 && labels.count(name) == 0 &&
                 // a floating-point number: 0f3F800000
                 name.size() > 1) {
        return "names unknown " + name + " in:" + statement;
      }
    }
  }
  return "";
}

}  // namespace

PtxModule ReadPtx(const std::string& raw) {
  PtxModule module;
  const std::string text = WithoutComments(raw);
  std::size_t at = 0;
  const auto next_word = [&] {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    const std::size_t start = at;
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) == 0 &&
           text[at] != '(' && text[at] != '{') {
      ++at;
    }
    return text.substr(start, at - start);
  };
  while (at < text.size()) {
    const std::string word = next_word();
    if (word.empty()) break;
    if (word == ".version") {
      module.version = next_word();
    } else if (word == ".target") {
      module.target = next_word();
    } else if (word == ".address_size") {
      module.address_size = std::atoi(next_word().c_str());
    } else if (word == ".visible") {
      if (next_word() != ".entry") {
        module.fault = "something visible that is no entry";
        return module;
      }
      PtxEntry entry;
      entry.name = next_word();
      const std::size_t close = text.find(')', at);
      std::istringstream list(text.substr(at + 1, close - at - 1));
      for (std::string one; std::getline(list, one, ',');) {
        std::istringstream words(one);
        std::string param;
        std::string type;
        words >> param >> type;
        entry.parameters.push_back(BytesOf(type));
        if (param != ".param" || entry.parameters.back() == 0) {
          module.fault = entry.name + " has a parameter that is not understood: " + one;
          return module;
        }
      }
      at = close + 1;
      while (at < text.size() && text[at] != '{' && text[at] != '.') ++at;
      const std::size_t start = at;
      int depth = 0;
      do {
        if (at >= text.size()) {
          module.fault = entry.name + " does not end";
          return module;
        }
        depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
        ++at;
      } while (depth > 0);
      entry.body = text.substr(start + 1, at - start - 2);
      module.fault = FaultOfBody(entry);
      if (!module.fault.empty()) {
        module.fault = entry.name + " " + module.fault;
        return module;
      }
      module.entries.push_back(entry);
    } else {
      module.fault = "unexpected " + word;
      return module;
    }
  }
  if (module.version.empty() || module.target.empty() || module.address_size == 0) {
    module.fault = "lacks .version, .target or .address_size";
  }
  return module;
}

}  // namespace galen::fake
