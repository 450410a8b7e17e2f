#include "common/host/redact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/host/capture_plan.h"
#include "tests/testing/status_matchers.h"

namespace galen::host {
namespace {

using ::galen::testing::IsOk;
using ::galen::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

const CapturePlan& Plan() {
  static const CapturePlan* const kPlan = [] {
    auto plan = LoadCapturePlan(absl::StrCat(GALEN_SOURCE_DIR, "/knowledge/capture.txt"));
    return plan.ok() ? new CapturePlan(*std::move(plan)) : new CapturePlan;
  }();
  return *kPlan;
}

// `text` has each secret between "<<" and ">>"; nothing but they may go.
struct Case {
  const char* kind;  // empty: no secret in it
  const char* text;
};

class RedactText : public ::testing::TestWithParam<Case> {};

TEST_P(RedactText, TakesOutTheSecretAndNothingElse) {
  std::string text = GetParam().text;
  std::string expected;
  std::size_t at = 0;
  for (std::size_t open; (open = text.find("<<", at)) != std::string::npos;) {
    const std::size_t close = text.find(">>", open);
    absl::StrAppend(&expected, text.substr(at, open - at), kRedacted);
    at = close + 2;
  }
  absl::StrAppend(&expected, text.substr(at));
  text = absl::StrReplaceAll(text, {{"<<", ""}, {">>", ""}});
  std::map<std::string, int> counts;
  EXPECT_EQ(Plan().redactor.Redact(text, counts), expected);
  if (*GetParam().kind == '\0') {
    EXPECT_THAT(counts, IsEmpty());
  } else {
    EXPECT_THAT(counts, ElementsAre(Pair(GetParam().kind, 1)));
  }
}

// None of these is or was a real key.
INSTANTIATE_TEST_SUITE_P(
    Secrets, RedactText,
    ::testing::Values(
        Case{
            "private key",
            "a\n-----BEGIN RSA PRIVATE KEY-----<<\nMIIx\nAAAA\n>>-----END RSA PRIVATE KEY-----\nb"},
        Case{"private key", "-----BEGIN OPENSSH PRIVATE KEY-----<<\nb3BlbnNz\ncut off here>>"},
        Case{"authorization header", "> Authorization: Basic <<dXNlcjpwYXNz>>\r\n"},
        Case{"authorization header", "\"authorization\": \"Bearer <<abc.def-ghi>>\", \"x\": 1"},
        Case{"bearer token", "sent bearer <<0123456789abcdef>> to the proxy"},
        Case{"mail address", "write to <<john.doe@acme-labs.org>>, please"},
        Case{"mail address", "#SBATCH --mail-user=<<jd@uni.edu>>\nnext"},
        Case{"", "[root@gpu02.hpc.uni.edu ~]# dmesg"}, Case{"", "mk@tarn.uni.edu:~$ groups"},
        Case{"", "scp x root@n1.uni.edu:/tmp/"}, Case{"", "job of svc@head.cluster.local is gone"},
        // An exception for one kind does not hold for another.
        Case{"secret assignment", "password=<<hunter2.local>>"}, Case{"", "left-pad@1.2.3 and a@b"},
        Case{"cookie", "Set-Cookie: <<session=12345; Path=/>>\nnext"},
        Case{"URL password", "proxy http://user:<<pa55word>>@10.0.0.1:3128/ used"},
        Case{"AWS key", "id <<AKIAABCDEFGHIJKLMNOP>> end"},
        Case{"Hugging Face token", "login with <<hf_abcdefghijklmnopqrstuvwx>> done"},
        Case{"GitHub token", "clone <<ghp_abcdefghijklmnopqrstuvwxyz012345>> done"},
        Case{"GitLab token", "clone <<glpat-abcdefghijklmnopqrst>> done"},
        Case{"API key", "openai <<sk-abcdefghijklmnopqrstuvwxyz>> done"},
        Case{"JSON web token", "t <<eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl>> end"},
        Case{"Azure key", "Name=a;AccountKey=<<abcdefghijklmnopqrstuv==>>;End"},
        Case{"secret argument", "python serve.py --api-key <<abc123>> --port 80"},
        Case{"secret argument", "mount -o user=a --password=<<hunter2>> /x"},
        Case{"secret assignment",
             "WANDB_API_KEY=<<0123456789abcdef0123456789abcdef01234567>> python"},
        Case{"secret assignment", "{\"aws_secret_access_key\": \"<<wJalrXUtnFEMI/K7MDENG>>\"}"},
        Case{"secret assignment", "db.password: <<correct-horse>>\n"}));

// Secrets as programs, containers and people really write them.
INSTANTIATE_TEST_SUITE_P(
    SecretsInTheField, RedactText,
    ::testing::Values(
        Case{"secret assignment", "{\"log\":\"{\\\"password\\\": \\\"<<hunter2222>>\\\"}\"}"},
        Case{"secret assignment",
             "{\"log\":\"{\\\"password\\\": \\\"<<hunter 22 22>>\\\", \\\"lr\\\": 3}\\n\"}"},
        Case{"authorization header", "\\\"Authorization\\\": \\\"Basic <<dXNlcjpwYXNz>>\\\""},
        Case{"secret assignment",
             "\"SecretAccessKey\": \"<<wJalrXUtnFEMI/K7MDENG>>\", \"Region\": \"x\""},
        Case{"secret assignment", "\"SessionToken\": \"<<FQoGZXIvYXdzE>>\""},
        Case{"secret assignment", "accessToken=<<abcdef123>> next"},
        Case{"secret assignment", "clientSecret: <<abc123def>>"},
        Case{"secret assignment", "PGPASSWORD=<<hunter22>> psql -h db"},
        Case{"secret assignment", "SSHPASS=<<hunter22>> sshpass -e ssh"},
        Case{"secret assignment", "MYSQL_PWD=<<hunter22>> mysql"},
        Case{"secret argument", "['python', '--api_key','<<0123>>']"},
        Case{"secret argument", "[\"--token\", \"<<x>>\"]"},
        Case{"secret argument", "serve --token  <<x>> --lr 3"},
        Case{"secret argument", "serve \"--token=<<x>>\" --lr 3"},
        Case{"secret argument", "{\"args\":\"[\\\"--token\\\", \\\"<<abc>>\\\"]\"}"},
        Case{"secret argument", "x --password \"<<two words>>\" --lr 3"},
        Case{"secret argument", "    Args:\n      --hf-token\n      <<abc123>>\n      --lr"},
        Case{"secret argument", "  args:\n  - --hf-token\n  - <<abc123>>\n  - --lr"},
        Case{"URL signature",
             "https://acct.blob.core.windows.net/c?sv=2020&sig=<<AbCdEfGhIjKlMnOpQrSt%3D>>&se=x"},
        Case{"URL signature",
             "\"url\":\"https://acct.blob.core.windows.net/"
             "c?sv=2020\\u0026sig=<<AbCdEfGhIjKlMnOpQrSt%3D>>\\u0026se=x\""},
        Case{"authorization header", "Authorization: ApiKey <<abcdef0123>>"},
        Case{"authorization header", "Authorization: Splunk <<abcdef0123>>"},
        Case{"authorization header", "Authorization: <<Frobnicate abcdef0123>>"},
        Case{"authorization header", "map[Accept:[*/*] Authorization:[Bearer <<abc.def>>] X:[y]]"},
        Case{"private key",
             "-----BEGIN PGP PRIVATE KEY BLOCK-----<<\nx\n>>-----END PGP PRIVATE KEY BLOCK-----"},
        Case{"Slack token", "a <<xapp-1-A0123-456-abcdef>> b"},
        Case{"Slack webhook", "https://hooks.slack.com/services/<<T0/B0/XXXXXXXXXX>>"},
        Case{"secret argument", "curl -s -u user:<<pa55>> https://x/"},
        Case{"secret argument", "curl --user 'user:<<pa55>>' https://x/"},
        Case{"secret argument", "sshpass -p <<hunter2>> ssh n2"},
        Case{"secret argument", "mysql -u root -p<<hunter2>> db"},
        Case{"netrc password", "machine api.x.org login ann password <<hunter2>>"},
        Case{"netrc password", "machine api.x.org\n  login ann\n  password <<hunter2>>"},
        Case{"container registry login",
             "\"auths\": {\"https://index.docker.io/v1/\": {\"auth\": "
             "\"<<dXNlcjpwYXNzd29yZA==>>\"}}"},
        Case{"API key", "key <<AIzaabcdefghijklmnopqrstuvwxyz012345678>> x"},
        Case{"API key", "vault <<hvs.abcdefghijklmnopqrstuvwx>> x"},
        Case{"API key", "docker login <<dckr_pat_abcdefghijklmnopqrstuvwx>> x"},
        Case{"secret assignment",
             "- name: DB_PASSWORD\n  value: <<hunter2>>\n- name: LR\n  value: 3"},
        Case{"secret assignment",
             "{\"name\":\"DB_PASSWORD\",\"value\":\"<<hunter2>>\"},{\"name\":\"LR\",\"value\":"
             "\"3\"}"},
        Case{"secret assignment",
             "      DB_PASSWORD:  <<hunter22>>\n      HF_TOKEN:     <set to the key 'token' in "
             "secret 'hf'>  Optional: false"},
        Case{"URL password", "https://<<0123456789abcdef0123456789abcdef>>@o1.ingest.sentry.io/1"},
        Case{"secret assignment", "password: '<<correct horse battery>>' x"},
        Case{"secret argument", "a --password=<<ab\\cd\\\\ef>> b"},
        Case{"secret assignment", "{\"db_password\": \"<<ab\\\"cdefg>>\", \"x\": 1}"},
        Case{"secret assignment", "password: <<12345678>>"},
        Case{"secret assignment", "token=<<12345678>>"}));

INSTANTIATE_TEST_SUITE_P(
    Evidence, RedactText,
    ::testing::Values(
        Case{"", "tokens per second: 38211, max_tokens=20480000, tokenizer: llama-tokenizer\n"},
        Case{"", "NVRM: Xid (PCI:0000:b3:00): 48, pid=4711, name=python3, DBE on GPU"},
        Case{"", "P_Key: 0xffff  pkey index: 0 keyboard: none key=value"},
        Case{"", "NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE; OOB eth0:10.0.0.1<0>"},
        Case{"", "GPU UUID: GPU-9a1f4c5e-93b2-1c0d-77aa-0123456789ab Serial Number: 1650123456789"},
        Case{"", "https://docs.example.org/a:b@c rsync://host/path"},
        Case{"", "pad_token: <|endoftext|>"}, Case{"", "docker run -d mysql -p3306:3306"},
        Case{"",
             "time_per_output_token=0.0123456 tokens_per_second: 12345.6 max_tokens=4096000 "
             "ms_per_token: 12.345678ms"},
        Case{"",
             "{\"time_per_token\": 0.00012345, \"s/token\": 1.23456e-05, \"max_new_token\": "
             "204800}"},
        Case{"", "--max-new-token 204800 --per-token=0.123"},
        Case{"", "tiktoken==0.7.0 tiktoken: 0.12.0 tiktoken>=0.7.0"},
        Case{"", "AutoModel.from_pretrained(x, use_auth_token=False)"},
        Case{"", "Usage:\n  --token\n        The token to use"},
        Case{"", "\"auth\": \"required\", \"author\": \"abcdefghijklmnopqrst\""},
        Case{"", "authorization denied by plugin"}));

TEST(Redactor, KeepsBytesThatAreNoText) {
  std::map<std::string, int> counts;
  const std::string raw("\xff\0\xfe hf_abcdefghijklmnopqrstuvwx \x80", 33);
  const std::string clean = Plan().redactor.Redact(raw, counts);
  EXPECT_EQ(clean, std::string("\xff\0\xfe ", 4) + std::string(kRedacted) + " \x80");
}

TEST(Redactor, KnowsTheCustomersPaths) {
  std::map<std::string, int> counts;
  EXPECT_EQ(
      Plan().paths.Redact(
          "open('/home/ann/a.py') /data/set1,/usr/lib/x s3://acme/ckpt --out=/mnt/b", counts),
      "open('/home/[redacted]') /data/[redacted],/usr/lib/x s3://[redacted] --out=/mnt/[redacted]");
  EXPECT_THAT(counts,
              ElementsAre(Pair("bucket", 1), Pair("data path", 2), Pair("home directory", 1)));
}

TEST(Redactor, IsDoneAfterOnePass) {
  std::map<std::string, int> first;
  std::map<std::string, int> second;
  const std::string once =
      Plan().redactor.Redact("--token abc123 API_KEY=0123456789 http://a:b@c/", first);
  EXPECT_EQ(Plan().redactor.Redact(once, second), once);
  EXPECT_THAT(second, IsEmpty());
  EXPECT_EQ(ShownCounts(first), "1 URL password, 1 secret argument, 1 secret assignment");
}

TEST(Redactor, DoesNotTakeTheSchemeForTheSecretTheSecondTime) {
  std::map<std::string, int> counts;
  const std::string once = Plan().redactor.Redact("Authorization: Splunk abc-123\n", counts);
  EXPECT_EQ(once, "Authorization: Splunk [redacted]\n");
  EXPECT_EQ(Plan().redactor.Redact(once, counts), once);
}

TEST(Redactor, KnowsSecretVariablesByName) {
  for (const char* const name :
       {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PASSWD", "NGC_API_KEY",
        "REGISTRY_AUTH", "GITHUB_PAT", "SENTRY_DSN", "OPENAI_APIKEY", "ssh_key", "MYSQL_PWD",
        "SSHPASS", "STORAGE_SAS", "HFTOKEN"}) {
    EXPECT_TRUE(Plan().redactor.IsSecretName(name)) << name;
  }
  for (const char* const name :
       {"NCCL_IB_HCA", "NCCL_DEBUG", "TOKENIZERS_PARALLELISM", "PATH", "PASSES", "MASTER_ADDR",
        "NCCL_IB_PKEY", "CUDA_VISIBLE_DEVICES", "KEYBOARD", "PATCH", "AUTHOR", "PWD", "OLDPWD",
        "TIKTOKEN_CACHE_DIR"}) {
    EXPECT_FALSE(Plan().redactor.IsSecretName(name)) << name;
  }
}

TEST(Redactor, ANumberOfTokensIsNoSecret) {
  EXPECT_FALSE(Plan().redactor.IsSecret("MAX_NUM_BATCHED_TOKENS", "8192"));
  EXPECT_FALSE(Plan().redactor.IsSecret("TIME_PER_TOKEN", "1.5e-05"));
  EXPECT_TRUE(Plan().redactor.IsSecret("HF_TOKEN", "8192abc"));
  EXPECT_TRUE(Plan().redactor.IsSecret("DB_PASSWORD", "8192"));
  EXPECT_FALSE(Plan().redactor.IsSecret("NCCL_DEBUG", "INFO"));
}

TEST(CapturePlan, SaysInWhichLineItIsBroken) {
  const auto says = [](absl::string_view text) { return ParseCapturePlan(text, "c.txt"); };
  EXPECT_THAT(
      says("run uname -a\n\nexec rm\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("c.txt:3: \"exec\" is unknown")));
  EXPECT_THAT(says("# x\nread etc/hosts\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("c.txt:2: ")));
  EXPECT_THAT(says("read /etc/../x\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("c.txt:1: ")));
  EXPECT_THAT(says("run\n"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no argument")));
  EXPECT_THAT(says("redact a (\n"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("RE2")));
  EXPECT_THAT(says("redact a\n"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("KIND")));
  EXPECT_THAT(LoadCapturePlan("/nowhere/capture.txt"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
}

TEST(CapturePlan, RepeatsAnEntryForEachValueOfItsPlaceholders) {
  const Placeholders values = {{"hca", {"mlx5_0", "mlx5_1"}}, {"disk", {}}, {"x", {"<hca>"}}};
  EXPECT_THAT(ExpandCommand({"mlxlink", "-d", "<hca>", "-m"}, values),
              ElementsAre(ElementsAre("mlxlink", "-d", "mlx5_0", "-m"),
                          ElementsAre("mlxlink", "-d", "mlx5_1", "-m")));
  EXPECT_THAT(ExpandCommand({"uname", "-a"}, values), ElementsAre(ElementsAre("uname", "-a")));
  EXPECT_THAT(ExpandCommand({"smartctl", "<disk>"}, values), IsEmpty());
  EXPECT_THAT(ExpandCommand({"kubectl", "<pod>"}, values), IsEmpty());
  EXPECT_THAT(ExpandWord("/sys/<x>/a", values), IsEmpty());
}

// Found by a fuzzer: thirty pairs would be a thousand million paths.
TEST(CapturePlan, RefusesBracesThatStandForTooMuch) {
  std::string entry = "read /sys/";
  for (int i = 0; i < 30; ++i) entry += "{1,2}";
  EXPECT_THAT(ParseCapturePlan(entry, "plan"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("plan:1: its braces")));
}

TEST(CapturePlan, ExpandsBraces) {
  const auto plan = ParseCapturePlan("read /a/{b,c}/{d,e}\njob-read /f\n", "c.txt");
  ASSERT_THAT(plan, IsOk());
  std::vector<std::string> globs;
  for (const CapturePlan::Files& files : plan->files) globs.push_back(files.glob);
  EXPECT_THAT(globs, ElementsAre("/a/b/d", "/a/b/e", "/a/c/d", "/a/c/e", "/f"));
  EXPECT_EQ(plan->files.back().view, View::kJob);
}

}  // namespace
}  // namespace galen::host
