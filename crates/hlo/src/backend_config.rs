//! Backend configuration of an instruction: JSON text on GPUs and CPUs. The text may contain numbers as strings.

use serde_json::Value;

use super::DotDimensions;

/// Parses the configuration. Returns `None` if it is empty or not JSON.
pub(super) fn parse(text: &str) -> Option<Value> {
    if text.is_empty() { None } else { serde_json::from_str(text).ok() }
}

/// Returns the value of the outermost member with a name. Compiler versions nest the member at different depths.
pub(super) fn member<'v>(document: &'v Value, name: &str) -> Option<&'v Value> {
    let mut level = vec![document];
    // The JSON parser limits the depth to 128 levels.
    while !level.is_empty() {
        if let Some(found) = level.iter().find_map(|value| value.as_object()?.get(name)) {
            return Some(found);
        }
        level = level.into_iter().filter_map(Value::as_object).flat_map(|object| object.values()).collect();
    }
    None
}

/// Returns the value of a number, or of a string that contains a number.
pub(super) fn int(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns a list of numbers, which is empty if `value` is not a list. Returns `None` if a number is unreadable,
/// because a list without it would mean something else.
pub(super) fn ints(value: Option<&Value>) -> Option<Vec<i64>> {
    let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().map(int).collect()
}

/// Returns `known_trip_count` of a while loop.
pub(super) fn trip_count(text: &str) -> Option<i64> {
    let document = parse(text)?;
    let count = int(member(&document, "known_trip_count")?.get("n")?)?;
    (count >= 0).then_some(count)
}

/// Returns `dot_dimension_numbers` of a library's matrix multiplication, or another member with the same structure.
pub(super) fn dot(document: &Value, name: &str) -> Option<DotDimensions> {
    let numbers = member(document, name)?;
    Some(DotDimensions {
        lhs_contracting: ints(numbers.get("lhs_contracting_dimensions"))?,
        rhs_contracting: ints(numbers.get("rhs_contracting_dimensions"))?,
        lhs_batch: ints(numbers.get("lhs_batch_dimensions"))?,
        rhs_batch: ints(numbers.get("rhs_batch_dimensions"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_at_any_depth() {
        let text = r#"{"operation_queue_id":"0","gemm_backend_config":{"alpha_real":1,"dot_dimension_numbers":
            {"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":[0],"lhs_batch_dimensions":[]}}}"#;
        let found = dot(&parse(text).unwrap(), "dot_dimension_numbers").unwrap();
        assert_eq!((found.lhs_contracting, found.rhs_contracting, found.lhs_batch), (vec![1], vec![0], vec![]));
        assert_eq!(trip_count(r#"{"known_trip_count":{"n":"28"}}"#), Some(28));
        assert_eq!(trip_count("not JSON"), None);
        let damaged = parse(r#"{"d":{"lhs_contracting_dimensions":["1","x"]}}"#).unwrap();
        assert_eq!(dot(&damaged, "d"), None);
    }
}
