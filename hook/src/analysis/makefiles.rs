//! `make`, and the recipes of a makefile that the command itself writes.

use crate::analysis::interpreter::Interpreter;
use crate::analysis::places::absolute;
use crate::analysis::state::State;
use crate::value::Value;
use crate::verdict::Eval;

/// The recipes of a makefile that the command itself writes or pipes in, and `SHELL=`.
pub(crate) fn make(this: &mut Interpreter<'_>, args: &[Value], state: &mut State) -> Eval<()> {
    if args
        .iter()
        .any(|arg| matches!(arg.raw(), "-n" | "--dry-run" | "--just-print" | "--recon"))
    {
        return Ok(());
    }
    for (at, arg) in args.iter().enumerate() {
        let text = match arg.raw() {
            "--eval" | "-E" => args.get(at + 1).map(Value::raw),
            raw => raw.strip_prefix("--eval="),
        };
        for code in text.iter().flat_map(|text| text.split("$(shell ").skip(1)) {
            let mut inner = state.outside();
            let code = Value::known(code.trim_end_matches(')'));
            this.nested(|this| this.code(&code, &mut inner))?;
        }
        if let Some(shell) = arg.raw().strip_prefix("SHELL=") {
            let mut inner = state.clone();
            this.nested(|this| this.code(&Value::known(shell), &mut inner))?;
        }
    }
    let file = args
        .windows(2)
        .find(|pair| matches!(pair[0].raw(), "-f" | "--file" | "--makefile"))
        .map(|pair| pair[1].clone());
    let contents = match file {
        Some(file) if matches!(file.raw(), "-" | "/dev/stdin" | "/dev/fd/0") => {
            vec![state.stdin.clone().unwrap_or_default()]
        }
        file => {
            let names = ["GNUmakefile", "makefile", "Makefile"];
            let path = file.map_or_else(
                || {
                    names
                        .iter()
                        .map(|name| absolute(&Value::known(*name), state))
                        .find(|path| this.has_written(path))
                },
                |file| Some(absolute(&file, state)),
            );
            match path {
                Some(path) => this.own_contents(&path),
                None => return Ok(()),
            }
        }
    };
    for line in contents.iter().flat_map(|content| content.raw().lines()) {
        let recipe = line
            .strip_prefix('\t')
            .or_else(|| line.split_once(';').map(|(_, recipe)| recipe));
        if let Some(recipe) = recipe {
            let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']);
            // Make's own variables are not known here.
            let code = recipe.replace("$(", "${MAKE_VARIABLE_").replace("$$", "$");
            let code = if code.contains("${MAKE_VARIABLE_") {
                code.replace(')', "}")
            } else {
                code
            };
            let mut inner = state.outside();
            this.nested(|this| this.code(&Value::known(code), &mut inner))?;
        }
    }
    Ok(())
}
