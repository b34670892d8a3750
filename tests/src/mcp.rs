//! A server of the Model Context Protocol with one tool, for a profile of a test.

use crate::environment::TestEnvironment;

/// Its one tool, which takes one text.
#[derive(Clone, Copy, Debug)]
pub struct Tool {
    /// The server's name, and the tool's.
    pub name: &'static str,
    /// The name of its argument.
    pub argument: &'static str,
    /// What it answers: an expression of Python, in which `said` is the argument.
    pub answer: &'static str,
}

const PROGRAM: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    result = {}
    if asked.get("method") == "initialize":
        version = asked["params"]["protocolVersion"]
        result = {"protocolVersion": version, "capabilities": {"tools": {}},
                  "serverInfo": {"name": "NAME", "version": "1"}}
    elif asked.get("method") == "tools/list":
        takes = {"type": "object", "properties": {"ARGUMENT": {"type": "string"}}}
        result = {"tools": [{"name": "NAME", "description": "Answers", "inputSchema": takes}]}
    elif asked.get("method") == "tools/call":
        said = asked["params"]["arguments"].get("ARGUMENT", "")
        result = {"content": [{"type": "text", "text": ANSWER}]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

/// Adds the server to the profile, if it has none of that name.
///
/// # Panics
/// When set-up did not write the profile.
pub fn add(env: &TestEnvironment, tool: Tool) {
    let text = PROGRAM
        .replace("NAME", tool.name)
        .replace("ARGUMENT", tool.argument)
        .replace("ANSWER", tool.answer);
    let program = env.write(format!("{}.py", tool.name), &text);
    let path = env.profile().join("config.toml");
    let config = fs_err::read_to_string(&path).expect("set-up wrote it");
    let table = format!("[mcp_servers.{}]", tool.name);
    if config.contains(&table) {
        return;
    }
    let config = format!(
        "{config}\n{table}\ncommand = \"python3\"\nargs = [\"{}\"]\nrequired = true\n\
         default_tools_approval_mode = \"approve\"\n",
        program.display()
    );
    fs_err::write(path, config).expect("the profile is the test's own");
}
