//! Arithmetic on constants, as far as it helps to know a value.

use crate::value::Value;

/// The value of an arithmetic expression: one number or one operation on two numbers is
/// computed, anything else is some number.
pub(crate) fn value(text: &Value) -> Value {
    let computed = text.as_known().and_then(|text| {
        let text = text.trim();
        if let Ok(number) = text.parse::<i64>() {
            return Some(number);
        }
        let at = text
            .char_indices()
            .skip(1)
            .find(|(_, c)| "+-*/%".contains(*c))?
            .0;
        let left: i64 = text[..at].trim().parse().ok()?;
        let right: i64 = text[at + 1..].trim().parse().ok()?;
        match text.as_bytes()[at] {
            b'+' => left.checked_add(right),
            b'-' => left.checked_sub(right),
            b'*' => left.checked_mul(right),
            b'/' => left.checked_div(right),
            _ => left.checked_rem(right),
        }
    });
    computed.map_or_else(Value::some_name, |number| Value::known(number.to_string()))
}
