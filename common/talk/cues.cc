#include "common/talk/cues.h"

#include <re2/re2.h>

namespace galen::talk {
namespace {

RE2::Options CueBytes() { return RE2::Options(RE2::Latin1); }

}  // namespace

bool Has(absl::string_view text, const RE2* pattern) {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *pattern);
}

const RE2* DeniedBefore() {
  static const RE2* const kDenied = new RE2(
      R"(\b(?:not|don't \w+|do not \w+|never \w+|except(?: for)?|but not|skip|ignore|ignoring|forget(?: about)?|avoid|exclude|excluding|without|leave|leaving|instead of|rather than|than|no longer|nor|other than|apart from|drop|remove|spare|anything but|everything but|all but)(?: (?:the|any|at|touch|on|old|host|node|box|machine|to|with|log in|into|near|about|look|include|check|run|one|also|either|even|ssh|connect|go|use|just|bother|my|our|poor|production|and)){0,5} *[\[(]?$)",
      CueBytes());
  return kDenied;
}

const RE2* OtherBefore() {
  static const RE2* const kOther = new RE2(
      R"((?:\b(?:gateway|dns|resolver|nameserver|ntp|time server|proxy|bastion|jump ?(?:host|box)|vip|load balancer|router|switch|bmc|ipmi|ilo|idrac|license server|registry|mirror|prometheus|grafana|exporter|syslog|nfs|filer|nas|storage|laptop|workstation|desk|vpn|monitoring|broadcast|netmask|subnet|network|dhcp|head node|login node|scheduler|controller|master|api server|website|dashboard|wiki|printer|sw|fw|loopback|bridge|docker0|metadata|multicast|tftp|pxe|ldap|kdc|git|gitlab|jenkins|firewall|peer address|neighbou?r|example|e\.g\.|like|such as|say|old(?: address| ip| one)?|former(?:ly)?|previous(?:ly)?|used to be|was(?: once)?)(?: of (?:the |our |that |this )?(?:[\w-]+ ){0,2}[\w-]+)?(?: (?:host|server|is|at|on|address|ip|the|node|box|one|lives|sits|runs|was|behind|via|through|for|of|us|them|it)){0,4}[ :=(@,]*\[?$))"
      R"(|\b(?:from my|(?:reboot|restart|power(?:ing)? (?:off|cycle)|shut ?down|wipe|format|delete|erase|reinstall|destroy|reset|rm -rf [^ ]+ on)(?: (?:the|host|node|server|machine))?|traceroute|nslookup|dig(?: @)?|curl(?: [^ ]+)?(?: https?://)?|wget|nc -\w+|via|through|from|by|route add|default via|server_name|resolv(?:es|ed)? to|master_addr ?=?|https?://|ntpdate|nmap) *\[?$)",
      CueBytes());
  return kOther;
}

const RE2* DeniedAfter() {
  static const RE2* const kDenied = new RE2(
      R"(^\]?[ ,]*(?:(?:,|which|that|who|-|—|\(|:|he|it|and) ?)*(?:is|was|are|were|must be|should be|stays?|has been|have been|got|gets|can be|went|needs? to be|are to be|is to be)? ?(?:just |only |now |already |long |still |also |both |to be |for |my |our |the |a |an |gone |being |in )*(?:left alone|leave (?:it|that|them) (?:alone|out|be)|left out|ignored|decommissioned|retired|scrapped|off limits|off-limits|out of scope|fine|healthy|ok\b|okay|not (?:affected|ours|involved|it|that one|the one|in scope|part of|to be|mine|a node|needed|relevant|one of)|excluded|gateway|dns|resolver|jump ?host|jump ?box|bastion|bmc|ipmi|ilo|router|switch|proxy|vip|load balancer|laptop|workstation|ntp|time server|head node|login node|nfs|filer|storage|scheduler|prometheus|grafana|monitoring|dashboard|registry|production|sold|replaced|reimaged|spare|dead for|powered off|netmask|documentation|as an? (?:example|sample|placeholder)|example|test lab|somebody else's|someone else's|other team's|typo|wrong|old (?:one|address|ip)|different cluster|another cluster|skip(?:ped)?))",
      CueBytes());
  return kDenied;
}

const RE2* Becomes() {
  static const RE2* const kBecomes = new RE2(
      R"(\b(?:moved to|is now|are now|now|became|becomes|->|=>|renumbered to|changed to|replaced (?:by|with)|swapped for|should (?:be|read|have been)|it's really|but|migrated to|lives at|i meant|i mean|make (?:it|that)|comes back as|came back as|reachable (?:at|as|under)|goes by) *(?:now |at |on |really |actually |the |use |take |check |look at |only |just |it's |it is |under )*\[?$|(?:->|=>|\x{2192}) *\[?$)",
      RE2::Options());
  return kBecomes;
}

bool Connects(absl::string_view between) {
  static const RE2* const kConnects = new RE2(
      R"(^[\])]?[\s,/&+]*(?:and|or|nor|as well as|plus|und|also)?[\s,/&+]*(?:on |the |host |node |at )*[\[(]?$)",
      CueBytes());
  return Has(between, kConnects);
}

bool IsCorrection(const std::string& lower) {
  static const RE2* const kCorrection = new RE2(
      R"(\b(?:sorry|correction|i meant?|meant|typo|make (?:that|it)|scratch that|my bad|oops|wrong (?:one|address|ip|host|box|port|number)|mistyped|fat[- ]?fingered|misread|i mixed|should (?:be|read|have been)|correct (?:one|address|ip|port)|apologies|err|whoops)\b|^\*|^actually\b|\bno,? (?:it's|it is|that's|wait)\b|^wait\b)",
      CueBytes());
  return Has(lower, kCorrection);
}

bool Adds(const std::string& lower) {
  static const RE2* const kAdds =
      new RE2(R"(\b(?:also|as well|too|additionally|add|plus|another|on top|in addition|forgot)\b)",
              CueBytes());
  return Has(lower, kAdds);
}

bool IsOfAll(const std::string& lower) {
  static const RE2* const kAll = new RE2(
      R"(\b(?:both|all|each|every|everywhere|they|them|same|any of|either|these|those|hosts|nodes|boxes|machines)\b)",
      CueBytes());
  return Has(lower, kAll);
}

bool IsOtherPort(absl::string_view before, absl::string_view after) {
  static const RE2* const kBefore = new RE2(
      R"(\b(?:not|no longer|instead of|rather than|never|used to be|was|isn't|wasn't|but not|from|than|http|https|web|metrics?|exporter|switch|rdma|ib|infiniband|grafana|prometheus|nccl|dashboard|ipmi|bmc|rendezvous|master|redis|vnc|jupyter|tensorboard|nfs|api|ui|console|triton|grpc|etcd|mlx5_\d|hca|leaf|spine|qsfp|swp|physical|torchrun|dcgm|ray|node_exporter|proxy|vpn|outbound|udp)(?: (?:on|at|is|the|a|its|uses|old|listens|listening|server|runs|port|anymore|any more|to|moved)){0,4} *$)",
      CueBytes());
  static const RE2* const kAfter = new RE2(
      R"(^[ ,]*(?:is|was|belongs to|serves|goes to|are)? ?(?:just |only |for |the |our |now |to |a |that |what )*(?:http|https|web|metrics?|exporter|grafana|prometheus|nccl|dashboard|ipmi|bmc|rendezvous|master|jupyter|tensorboard|api|ui|dcgm|console|closed|blocked|firewalled|wrong|dead|of (?:the )?(?:switch|leaf|hca|mlx5)|on the (?:leaf|switch|spine)|any ?more|no longer|is closed|filtered|refused))",
      CueBytes());
  return Has(before, kBefore) || Has(after, kAfter);
}

}  // namespace galen::talk
