//! Reading JSON that others write: what is missing, null or of another type is the default.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// For `#[serde(deserialize_with)]`: a value of the wrong type counts as absent, so that one odd
/// field does not hide a whole request.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).unwrap_or_default())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    /// Objects of any JSON, dense in these keys.
    pub(crate) fn object(keys: &'static [&'static str]) -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
            prop::sample::select(vec!["message", "reasoning", "function_call", "namespace"])
                .prop_map(Value::from),
        ];
        let value = leaf.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                fields(keys, inner),
            ]
        });
        fields(keys, value)
    }

    fn fields(
        keys: &'static [&'static str],
        value: impl Strategy<Value = Value> + 'static,
    ) -> impl Strategy<Value = Value> {
        let key = prop::sample::select(keys).prop_map(str::to_owned);
        proptest::collection::vec((key, value), 0..5)
            .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<String, Value>>()))
    }
}
