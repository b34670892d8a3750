//! Reading JSON that others write: what is missing, null or of another type is the default.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Declares structs whose fields are all read leniently: see [`or_default`]. What has no field of
/// its own is kept in a map, where the struct ends with `rest { … }`.
macro_rules! lenient {
    ($(
        $(#[$of_struct:meta])*
        pub struct $name:ident {
            $($(#[$of_field:meta])* pub $field:ident: $type:ty,)*
            $(rest { $(#[$of_rest:meta])* pub $rest:ident: $rest_type:ty, })?
        }
    )*) => {$(
        $(#[$of_struct])*
        #[derive(Debug, Clone, PartialEq, Default, serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[$of_field])*
                #[serde(deserialize_with = "crate::lenient::or_default")]
                pub $field: $type,
            )*
            $(
                $(#[$of_rest])*
                #[serde(flatten)]
                pub $rest: $rest_type,
            )?
        }
    )*};
}
pub(crate) use lenient;

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
