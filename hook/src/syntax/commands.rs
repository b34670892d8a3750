//! Lists, pipelines and compound commands.

use std::rc::Rc;

use super::ast::{Arm, Command, Join, Simple, Word};
use super::scan::{Result, Scanner, is_meta};

/// Words that end a list where they stand as a command.
const CLOSERS: &[&str] = &["then", "else", "elif", "fi", "do", "done", "esac", "}"];

impl Scanner<'_> {
    /// A whole script: complete lines are kept in `out` even when a later one fails.
    pub(super) fn program(&mut self, out: &mut Vec<Command>) -> Result<()> {
        loop {
            self.lines()?;
            if self.peek().is_none() {
                return self.finish();
            }
            // All commands of a line run only if the whole line parses.
            let mut line = Vec::new();
            loop {
                line.push(self.and_or()?);
                self.blanks();
                match self.peek() {
                    Some(b';') => self.pos += 1,
                    Some(b'&') => {
                        self.pos += 1;
                        background(&mut line);
                    }
                    Some(b'\n') | None => break,
                    _ => return Err(self.error("the end of a command")),
                }
                self.blanks();
                if matches!(self.peek(), Some(b'\n') | None) {
                    break;
                }
            }
            let ended = self.line_end();
            out.append(&mut line);
            ended?;
        }
    }

    /// Here-documents that begin at the end of the text are empty.
    fn finish(&mut self) -> Result<()> {
        for pending in std::mem::take(&mut self.pending) {
            self.heredoc(&pending)?;
        }
        Ok(())
    }

    /// Commands up to a word or sign that closes the construct they are in; it is not taken.
    pub(super) fn list(&mut self) -> Result<Vec<Command>> {
        let mut commands = Vec::new();
        loop {
            self.lines()?;
            match self.peek() {
                None | Some(b')') => return Ok(commands),
                Some(b';') if self.starts_with(";;") || self.starts_with(";&") => {
                    return Ok(commands);
                }
                _ => {}
            }
            if self.reserved().is_some_and(|w| CLOSERS.contains(&w)) {
                return Ok(commands);
            }
            commands.push(self.and_or()?);
            self.blanks();
            match self.peek() {
                Some(b';') if !self.starts_with(";;") && !self.starts_with(";&") => self.pos += 1,
                Some(b'&') => {
                    self.pos += 1;
                    background(&mut commands);
                }
                _ => {}
            }
        }
    }

    fn and_or(&mut self) -> Result<Command> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let join = if self.eat("&&") {
                Join::And
            } else if self.eat("||") {
                Join::Or
            } else {
                break;
            };
            self.lines()?;
            rest.push((join, self.pipeline()?));
        }
        Ok(if rest.is_empty() {
            first
        } else {
            Command::AndOr(Box::new(first), rest)
        })
    }

    fn pipeline(&mut self) -> Result<Command> {
        self.blanks();
        // `!` and `time` change how the pipeline is reported, not what runs.
        loop {
            match self.reserved() {
                Some("!") => self.pos += 1,
                Some("time") => {
                    self.pos += 4;
                    self.blanks();
                    for option in ["-p", "--"] {
                        if self.starts_with(option)
                            && self.peek_at(option.len()).is_none_or(is_meta)
                        {
                            self.pos += option.len();
                            self.blanks();
                        }
                    }
                    if self.at_command_end() {
                        return Ok(Command::Simple(Box::default()));
                    }
                }
                _ => break,
            }
            self.blanks();
        }
        let mut stages = vec![self.command()?];
        loop {
            self.blanks();
            let both = self.starts_with("|&");
            if !both && (!self.starts_with("|") || self.starts_with("||")) {
                break;
            }
            self.pos += if both { 2 } else { 1 };
            self.lines()?;
            stages.push(self.command()?);
        }
        Ok(if stages.len() == 1 {
            stages.remove(0)
        } else {
            Command::Pipeline(stages)
        })
    }

    fn at_command_end(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n' | b';' | b'&' | b'|' | b')'))
    }

    /// The unquoted word here, if it is one that bash reserves; it is not taken.
    pub(super) fn reserved(&mut self) -> Option<&'static str> {
        const RESERVED: &[&str] = &[
            "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until",
            "for", "select", "function", "time", "coproc", "[[", "{", "}", "!",
        ];
        /// The longest of them.
        const LONGEST: usize = 8;
        let rest = &self.bytes[self.pos..];
        let mut start = rest.iter().take(LONGEST + 1);
        let end = start.position(|b| is_meta(*b)).unwrap_or(rest.len());
        let word = rest.get(..end).filter(|word| word.len() <= LONGEST)?;
        RESERVED.iter().copied().find(|r| r.as_bytes() == word)
    }

    pub(super) fn command(&mut self) -> Result<Command> {
        self.node()?;
        self.blanks();
        self.skip_continuation();
        let Some(word) = self.reserved() else {
            return if self.peek() == Some(b'(') {
                let command = self.nested(Self::parens)?;
                self.redirected(command)
            } else {
                self.simple()
            };
        };
        let command = match word {
            "if" => self.nested(Self::if_command)?,
            "while" | "until" => self.nested(|s| {
                s.pos += 5;
                let condition = s.list()?;
                s.keyword("do")?;
                let body = s.list()?;
                s.keyword("done")?;
                Ok(Command::While { condition, body })
            })?,
            "for" | "select" => self.nested(Self::for_command)?,
            "case" => self.nested(Self::case_command)?,
            "{" => self.nested(|s| {
                s.pos += 1;
                let body = s.list()?;
                s.keyword("}")?;
                Ok(Command::Group(body))
            })?,
            "[[" => self.nested(Self::test)?,
            "function" => {
                self.pos += 8;
                self.blanks();
                let name = self.raw_word();
                self.blanks();
                if self.eat("(") {
                    self.blanks();
                    self.expect(")")?;
                }
                return self.function(name);
            }
            "coproc" => return self.nested(Self::coproc),
            "!" | "time" => return self.nested(Self::pipeline),
            _ => return Err(self.error("a command")),
        };
        self.redirected(command)
    }

    /// The redirections after a compound command.
    fn redirected(&mut self, command: Command) -> Result<Command> {
        let mut redirects = Vec::new();
        loop {
            self.blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => break,
            }
        }
        Ok(if redirects.is_empty() {
            command
        } else {
            Command::Redirected(Box::new(command), redirects)
        })
    }

    fn keyword(&mut self, word: &'static str) -> Result<()> {
        self.lines()?;
        if self.reserved() == Some(word) {
            self.pos += word.len();
            Ok(())
        } else {
            Err(self.error(word))
        }
    }

    /// A name as written, up to the next sign that ends a word.
    fn raw_word(&mut self) -> String {
        let start = self.pos;
        while self.peek().is_some_and(|b| !is_meta(b)) {
            self.pos += 1;
        }
        self.text[start..self.pos].to_owned()
    }

    pub(super) fn function(&mut self, name: String) -> Result<Command> {
        self.lines()?;
        let body = self.nested(Self::command)?;
        Ok(Command::Function {
            name,
            body: Rc::new(body),
        })
    }

    fn coproc(&mut self) -> Result<Command> {
        self.pos += 6;
        self.blanks();
        if self.reserved().is_some() {
            return Ok(Command::Background(Box::new(self.command()?)));
        }
        let start = self.pos;
        // `coproc NAME { …; }`: a name stands only before a compound command.
        let name = self.raw_word();
        self.blanks();
        let compound = self.peek() == Some(b'(')
            || matches!(
                self.reserved(),
                Some("{" | "if" | "while" | "until" | "for" | "case" | "select" | "[[")
            );
        if !compound || !crate::text::is_name(&name) {
            self.pos = start;
        }
        Ok(Command::Background(Box::new(self.command()?)))
    }

    /// `((…))` or `(…)`.
    fn parens(&mut self) -> Result<Command> {
        let start = self.pos;
        if self.starts_with("((") {
            self.pos += 2;
            if let Some(word) = self.arithmetic("))")? {
                let end = self.pos;
                // What bash takes for arithmetic here, other shells take for subshells.
                self.pos = start + 1;
                let nested = self.list();
                let commands =
                    (nested.is_ok() && self.starts_with(")")).then(|| nested.unwrap_or_default());
                self.pos = end;
                return Ok(Command::Arithmetic(word, commands));
            }
            self.pos = start;
        }
        self.pos += 1;
        let body = self.list()?;
        self.expect(")")?;
        Ok(Command::Subshell(body))
    }

    fn if_command(&mut self) -> Result<Command> {
        self.pos += 2;
        let mut arms = Vec::new();
        let mut otherwise = Vec::new();
        let condition = self.list()?;
        self.keyword("then")?;
        arms.push((condition, self.list()?));
        loop {
            match self.reserved() {
                Some("elif") => {
                    self.pos += 4;
                    let condition = self.list()?;
                    self.keyword("then")?;
                    arms.push((condition, self.list()?));
                }
                Some("else") => {
                    self.pos += 4;
                    otherwise = self.list()?;
                }
                Some("fi") => {
                    self.pos += 2;
                    return Ok(Command::If { arms, otherwise });
                }
                _ => return Err(self.error("fi")),
            }
        }
    }

    fn for_command(&mut self) -> Result<Command> {
        self.raw_word();
        self.blanks();
        if self.eat("((") {
            let header = self.arithmetic("))")?.ok_or_else(|| self.error("))"))?;
            self.blanks();
            self.eat(";");
            let body = self.loop_body()?;
            return Ok(Command::Loop { header, body });
        }
        let variable = self.raw_word();
        self.lines()?;
        let mut words = None;
        if self.starts_with("in") && self.peek_at(2).is_none_or(is_meta) {
            self.pos += 2;
            let mut list = Vec::new();
            loop {
                self.blanks();
                if matches!(self.peek(), None | Some(b';' | b'\n' | b'&')) {
                    break;
                }
                match self.word()? {
                    Some(word) => list.push(word),
                    None => return Err(self.error("do")),
                }
            }
            words = Some(list);
        }
        self.blanks();
        self.eat(";");
        let body = self.loop_body()?;
        Ok(Command::For {
            variable,
            words,
            body,
        })
    }

    /// `do … done` or `{ … }`.
    fn loop_body(&mut self) -> Result<Vec<Command>> {
        self.lines()?;
        let (open, close) = if self.reserved() == Some("{") {
            ("{", "}")
        } else {
            ("do", "done")
        };
        self.keyword(open)?;
        let body = self.list()?;
        self.keyword(close)?;
        Ok(body)
    }

    fn case_command(&mut self) -> Result<Command> {
        self.pos += 4;
        self.blanks();
        let subject = self.word()?.ok_or_else(|| self.error("a word"))?;
        self.lines()?;
        if !self.eat("in") {
            return Err(self.error("in"));
        }
        let mut arms = Vec::new();
        loop {
            self.lines()?;
            if self.reserved() == Some("esac") {
                self.pos += 4;
                return Ok(Command::Case { subject, arms });
            }
            self.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.blanks();
                patterns.push(self.word()?.ok_or_else(|| self.error("a pattern"))?);
                self.blanks();
                if self.eat("|") {
                    continue;
                }
                self.expect(")")?;
                break;
            }
            let body = self.list()?;
            arms.push(Arm { patterns, body });
            if !(self.eat(";;&") || self.eat(";;") || self.eat(";&")) {
                self.lines()?;
                if self.reserved() != Some("esac") {
                    return Err(self.error("esac"));
                }
            }
        }
    }

    /// `[[ … ]]`: operators are skipped, words are kept.
    fn test(&mut self) -> Result<Command> {
        self.pos += 2;
        let mut words: Vec<Word> = Vec::new();
        loop {
            self.lines()?;
            if self.starts_with("]]") && self.peek_at(2).is_none_or(is_meta) {
                self.pos += 2;
                return Ok(Command::Test(words));
            }
            if self.starts_with("=~") {
                self.pos += 2;
                self.blanks();
                words.push(self.regex()?);
                continue;
            }
            match self.peek() {
                None => return Err(self.error("]]")),
                Some(b'(' | b')' | b'&' | b'|') => self.pos += 1,
                Some(b'<' | b'>') if self.peek_at(1) != Some(b'(') => self.pos += 1,
                _ => match self.word()? {
                    Some(word) => words.push(word),
                    None => return Err(self.error("]]")),
                },
            }
        }
    }

    /// A simple command, or the definition of a function.
    fn simple(&mut self) -> Result<Command> {
        let start = self.pos;
        let mut simple = Simple::default();
        loop {
            self.blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                continue;
            }
            if simple.words.is_empty()
                && let Some(assign) = self.assignment()?
            {
                simple.assigns.push(assign);
                continue;
            }
            let word_start = self.pos;
            let Some(word) = self.argument()? else {
                break;
            };
            let first = simple.words.is_empty() && simple.assigns.is_empty();
            simple.words.push(word);
            if first {
                let name_end = self.pos;
                self.blanks();
                if self.peek() == Some(b'(') {
                    self.pos += 1;
                    self.blanks();
                    self.expect(")")?;
                    return self.function(self.text[word_start..name_end].to_owned());
                }
            }
        }
        simple.span = self.span(start);
        if simple.words.is_empty() && simple.assigns.is_empty() && simple.redirects.is_empty() {
            return Err(self.error("a command"));
        }
        Ok(Command::Simple(Box::new(simple)))
    }
}

/// Makes the last command of a list one that runs in the background.
fn background(commands: &mut Vec<Command>) {
    if let Some(last) = commands.pop() {
        commands.push(Command::Background(Box::new(last)));
    }
}
