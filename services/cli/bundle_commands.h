#ifndef SERVICES_CLI_BUNDLE_COMMANDS_H_
#define SERVICES_CLI_BUNDLE_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "services/cli/diagnose.h"
#include "services/cli/exit_code.h"

namespace galen::cli {

// `galen bundle capture`: this machine as a bundle.
struct CaptureArguments {
  std::string directory;
  std::string description;
  std::vector<std::string> logs;
  std::vector<std::string> more_logs;  // named without --log
  double time_s = 9;                   // what all but the logs may take
  bool redact_paths = false;           // take out the customer's paths too
  std::string plan;                    // the list of what to read; "": capture.txt of the knowledge
  int job_pid = 0;                     // a process of the job; 0: none
  std::vector<std::string> knowledge;
};
ExitCode CaptureBundle(const CaptureArguments& arguments, Console& console);

// `galen bundle new`: an empty bundle to add to.
struct NewBundleArguments {
  std::string directory;
  std::string description;
  std::vector<std::string> nodes;
};
ExitCode NewBundle(const NewBundleArguments& arguments, Console& console);

// `galen bundle add`: one piece: the output of a command, a file, a log, or a variable of the job.
struct AddArguments {
  std::string directory;
  std::string node;
  bool in_job = false;
  std::vector<std::string> command;  // argv as it was run
  std::string output;                // file with what it printed; "-": standard input
  int exit_code = 0;
  bool absent = false;  // the command, or file, is known not to be there
  std::string file;     // absolute path on the node
  std::string from;     // where its content is now
  std::string log;
  int rank = -1;
  std::vector<std::string> environment;  // NAME=value
};
ExitCode AddToBundle(const AddArguments& arguments, Console& console);

// `galen bundle` as it was called.
struct BundleArguments {
  CaptureArguments capture;
  NewBundleArguments create;
  AddArguments add;
};

// Declares `galen bundle` and its commands capture, new and add.
CLI::App* DeclareBundle(CLI::App& app, BundleArguments& arguments);
ExitCode RunBundle(const CLI::App& bundle, const BundleArguments& arguments, Console& console);

}  // namespace galen::cli

#endif  // SERVICES_CLI_BUNDLE_COMMANDS_H_
