//! A role in a process of its own, whose end is written into the table: whoever asked for it does not wait on this machine.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use super::options::Options;
use super::roles::control_error;
use super::{CliError, Failure};
use cpt_control_aws::answer::{Answer, AnswerPlace, Answers};
use cpt_control_aws::clients::Setup;
use cpt_relay::documents::text::SchemaVersion1;
use cpt_relay::stop::Stop;
use cpt_relay::thread;

/// Bytes of what the role says on standard error: why it failed is at the end.
const FIRST_WORDS: usize = 1500;
const LAST_WORDS: usize = 6000;
/// Bytes of its last line of output: an item of the table holds 400 KB.
const LONGEST_OUTPUT: usize = 300_000;

/// Runs the role that the arguments name and writes its answer. Its own code is 0 once that is written, whatever the answer is.
pub(super) fn answering(options: &Options) -> Result<ExitCode, CliError> {
    let [role] = options.paths.as_slice() else { return Err(CliError::Usage("answer needs one role".to_owned())) };
    let command = options.command.as_ref().ok_or_else(|| CliError::Usage("answer needs --command FILE".to_owned()))?;
    let place = options.to.as_ref().ok_or_else(|| CliError::Usage("answer needs --to PLACE".to_owned()))?;
    let place: AnswerPlace = place.parse().map_err(|why| CliError::Usage(format!("--to: {why}")))?;
    // Whoever stops the unit tells both processes: the role ends, and this one says so.
    let stop = Stop::on_signals().map_err(|error| CliError::failed(Failure::Signals, error))?;
    let mut program = Command::new(std::env::current_exe().map_err(|error| CliError::failed(Failure::Output, error))?);
    program.arg(role).arg("--command").arg(command);
    let answer = run(&mut program).unwrap_or_else(|error| Answer {
        schema_version: SchemaVersion1,
        code: 1,
        output: String::new(),
        error: format!("cpt-relay {} cannot be run: {error}", role.display()),
    });
    let answers = Answers::new(place, &stop, &Setup::AWS).map_err(control_error)?;
    answers.put(&answer).map_err(control_error)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a program to its end. What it says on standard error goes on to this process' own.
fn run(program: &mut Command) -> io::Result<Answer> {
    let mut child = program.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let errors = child.stderr.take().map(|errors| thread::spawn("errors", move || heard(errors))).transpose()?;
    let mut output = Vec::new();
    if let Some(mut lines) = child.stdout.take() {
        lines.read_to_end(&mut output)?;
    }
    let status = child.wait()?;
    let error = errors.and_then(|errors| errors.join().ok()).unwrap_or_default();
    Ok(Answer { schema_version: SchemaVersion1, code: code_of(status), output: last_line(&output), error })
}

/// The beginning and the end of what comes, all of which is passed on.
fn heard(mut errors: impl Read) -> String {
    let (mut first, mut last, mut left_out) = (Vec::new(), Vec::new(), false);
    let mut buffer = [0; 8192];
    while let Ok(length @ 1..) = errors.read(&mut buffer) {
        let _ = io::stderr().write_all(&buffer[..length]);
        let taken = length.min(FIRST_WORDS - first.len());
        first.extend_from_slice(&buffer[..taken]);
        last.extend_from_slice(&buffer[taken..length]);
        if last.len() > LAST_WORDS {
            left_out = true;
            last.drain(..last.len() - LAST_WORDS);
        }
    }
    let between = if left_out { "\n…\n" } else { "" };
    format!("{}{between}{}", String::from_utf8_lossy(&first), String::from_utf8_lossy(&last))
}

fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if line.len() > LONGEST_OUTPUT { String::new() } else { line.to_owned() }
}

fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn shell(script: &str) -> Answer {
        run(Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn the_answer_is_the_last_line_and_the_code() {
        let answer = shell("echo log; echo '{\"a\":1}'; echo; echo why >&2; exit 3");
        assert_eq!((answer.code, answer.output.as_str(), answer.error.as_str()), (3, "{\"a\":1}", "why\n"));
    }

    #[test]
    fn a_signal_is_told_as_a_shell_tells_it() {
        assert_eq!(shell("kill -9 $$").code, 137);
    }

    #[test]
    fn of_many_words_the_first_and_the_last_are_kept() {
        let answer = shell("echo begins >&2; seq -f 'skipped file %g' 10000 >&2; echo 'no space left' >&2");
        assert!(answer.error.starts_with("begins\n"), "{}", answer.error);
        assert!(answer.error.ends_with("no space left\n"), "{}", answer.error);
        assert!(answer.error.len() < FIRST_WORDS + LAST_WORDS + 10);
    }

    #[test]
    fn a_line_that_no_item_holds_is_no_answer() {
        assert_eq!(last_line(&vec![b'x'; LONGEST_OUTPUT + 1]), "");
    }
}
