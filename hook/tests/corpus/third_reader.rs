//! brush, another shell's parser, as a third reader: where it reads a command, ours has to have found
//! it too.
//!
//! It is not in the guard itself: on some texts it never ends, and it reads none of what follows a
//! mistake. So it reads here in a thread of its own, and a text that takes it too long is passed over.

use std::sync::mpsc;
use std::time::Duration;

use brush_parser::ast::{
    self, AndOr, Command, CommandPrefixOrSuffixItem, CompoundCommand, CompoundList,
};

use super::assert_found;

/// How long brush may read one text. It takes microseconds, or for ever.
const PATIENCE: Duration = Duration::from_secs(20);

/// Texts longer than this are passed over: brush is exponential on some.
const LONGEST: usize = 1_500;

/// The plain names of the commands that brush finds; `None` if it cannot read the text, or not in time.
fn names_by_brush(text: &str) -> Option<Vec<String>> {
    let (sender, receiver) = mpsc::channel();
    let text = text.to_owned();
    std::thread::spawn(move || {
        let options = brush_parser::ParserOptions::default();
        let program = brush_parser::Parser::new(text.as_bytes(), &options).parse_program();
        let names = program.ok().map(|program| {
            let mut names = Vec::new();
            for list in &program.complete_commands {
                collect(list, &mut names);
            }
            names
        });
        // Nobody waits any more if it took too long.
        let _ = sender.send(names);
    });
    receiver.recv_timeout(PATIENCE).ok().flatten()
}

fn collect(list: &CompoundList, names: &mut Vec<String>) {
    for item in &list.0 {
        let pipelines =
            std::iter::once(&item.0.first).chain(item.0.additional.iter().map(|more| match more {
                AndOr::And(pipeline) | AndOr::Or(pipeline) => pipeline,
            }));
        for command in pipelines.flat_map(|pipeline| &pipeline.seq) {
            one(command, names);
        }
    }
}

fn one(command: &Command, names: &mut Vec<String>) {
    match command {
        Command::Simple(simple) => {
            let substituted = simple.prefix.iter().flat_map(|prefix| &prefix.0);
            for item in substituted.chain(simple.suffix.iter().flat_map(|suffix| &suffix.0)) {
                if let CommandPrefixOrSuffixItem::ProcessSubstitution(_, inner) = item {
                    collect(&inner.list, names);
                }
            }
            names.extend(simple.word_or_name.iter().map(|word| word.value.clone()));
        }
        Command::Compound(compound, _) => compounds(compound, names),
        // A function's body runs only where it is called.
        Command::Function(_) | Command::ExtendedTest(..) => {}
    }
}

fn compounds(compound: &CompoundCommand, names: &mut Vec<String>) {
    match compound {
        CompoundCommand::BraceGroup(group) => collect(&group.list, names),
        CompoundCommand::Subshell(shell) => collect(&shell.list, names),
        CompoundCommand::ForClause(clause) => collect(&clause.body.list, names),
        CompoundCommand::ArithmeticForClause(clause) => collect(&clause.body.list, names),
        CompoundCommand::CaseClause(clause) => {
            clause
                .cases
                .iter()
                .filter_map(|case| case.cmd.as_ref())
                .for_each(|list| collect(list, names));
        }
        CompoundCommand::IfClause(clause) => {
            collect(&clause.condition, names);
            collect(&clause.then, names);
            for other in clause.elses.iter().flatten() {
                other.condition.iter().for_each(|list| collect(list, names));
                collect(&other.body, names);
            }
        }
        CompoundCommand::WhileClause(ast::WhileOrUntilClauseCommand(condition, body, _))
        | CompoundCommand::UntilClause(ast::WhileOrUntilClauseCommand(condition, body, _)) => {
            collect(condition, names);
            collect(&body.list, names);
        }
        CompoundCommand::Coprocess(coprocess) => one(&coprocess.body, names),
        CompoundCommand::Arithmetic(_) => {}
    }
}

#[test]
fn every_command_that_brush_reads_is_found() {
    let files = ["allow.tsv", "allow-more.tsv", "allow-wide.tsv"];
    assert_found(&files, 2_000, |command| {
        (command.len() <= LONGEST)
            .then(|| names_by_brush(command))
            .flatten()
    });
}
