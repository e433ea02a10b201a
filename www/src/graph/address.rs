//! Options of the graph view in the URL: the program, the op, and how they are drawn.
//!
//! `#/graph?q=fusion.3&by.program=17&by.radius=2&by.group=scopes&by.show=tuples,users&by.open=...`

use crossprof::graph::{Choices, Grouping, Look};
use crossprof::pages::PageQuery;

pub use crate::route::PROGRAM;
use crate::route::Route;

/// Option that names the drawn computation.
pub const COMPUTATION: &str = "computation";
/// Option with the number of steps from the op in the middle to the farthest node. A value that is not a number draws
/// the whole computation.
pub const RADIUS: &str = "radius";
/// Option that determines how nodes are grouped.
pub const GROUP: &str = "group";
/// Option that lists kinds of instructions. Instructions of these kinds are drawn, although they are left out by
/// default.
pub const SHOW: &str = "show";
/// Option that lists the ids of opened groups, one per line.
pub const OPEN: &str = "open";

/// Value of [`RADIUS`] for a whole computation.
pub const WHOLE: &str = "all";

/// Kinds of instructions that are left out by default. Each has a name in the URL and a label on the page.
pub const SHOWN: [(&str, &str); 4] = [
    ("tuples", "Tuples and get-tuple-element"),
    ("constants", "Constants as nodes"),
    ("bitcasts", "Bitcasts as steps"),
    ("users", "All users, even if there are more than 16"),
];

/// Returns the part of the program that the URL requests, and how it is drawn.
pub fn look(query: &PageQuery) -> Look {
    let text = |key: &str| query.options.get(key).map(String::as_str).unwrap_or_default();
    let shows = |key: &str| text(SHOW).split(',').any(|shown| shown == key);
    let op = op(query);
    Look {
        radius: match text(RADIUS) {
            "" => Some(1),
            radius => radius.parse().ok(),
        },
        computation: Some(text(COMPUTATION).to_owned()).filter(|name| !name.is_empty() && op.is_none()),
        op,
        grouping: match text(GROUP) {
            "scopes" => Grouping::Scopes,
            "computations" => Grouping::Computations,
            _ => Grouping::Layers,
        },
        choices: Choices {
            hides_tuples: !shows("tuples"),
            inlines_constants: !shows("constants"),
            frees_bitcasts: !shows("bitcasts"),
            most_users: Choices::default().most_users.filter(|_| !shows("users")),
        },
        opened: text(OPEN).lines().map(str::to_owned).collect(),
    }
}

/// Returns the name of the op in the middle.
pub fn op(query: &PageQuery) -> Option<String> {
    let name = query.filter.trim();
    // Other views write filters such as `hlo_op_name="fusion.3"`.
    let name = name.split_once("=\"").and_then(|(_, name)| name.strip_suffix('"')).unwrap_or(name);
    let name = name.trim_start_matches('%');
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the route to the same view with an op in the middle. Keeps the program and the options.
pub fn around(route: &Route, name: &str) -> Route {
    let mut next = route.clone();
    name.clone_into(&mut next.query.filter);
    for key in [COMPUTATION, OPEN] {
        next.query.options.remove(key);
    }
    next
}

/// Returns the route to a whole computation.
pub fn within(route: &Route, computation: &str) -> Route {
    let mut next = around(route, "");
    next.query.options.insert(COMPUTATION.to_owned(), computation.to_owned());
    next
}

/// Returns the value of [`OPEN`] after the group with this id was opened or closed.
pub fn toggled(query: &PageQuery, id: &str) -> String {
    let opened = query.options.get(OPEN).map(String::as_str).unwrap_or_default();
    let mut all: Vec<&str> = opened.lines().collect();
    match all.iter().position(|known| *known == id) {
        Some(at) => drop(all.remove(at)),
        None => all.push(id),
    }
    all.join("\n")
}

/// Returns the value of [`SHOW`] after the user switched the kind `key` on or off.
pub fn switched(query: &PageQuery, key: &str) -> String {
    let shown = query.options.get(SHOW).map(String::as_str).unwrap_or_default();
    let is_shown = |part: &str| shown.split(',').any(|it| it == part);
    let parts = SHOWN.iter().map(|(part, _)| *part).filter(|&part| is_shown(part) != (part == key));
    parts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_look() {
        let route = Route::parse(
            "#/graph?q=hlo_op_name%3D%22fusion.3%22&by.radius=all&by.show=users,tuples&by.open=a%0Ab%2F%25c",
        );
        let found = look(&route.query);
        assert_eq!((found.op.as_deref(), found.radius), (Some("fusion.3"), None));
        assert_eq!(found.choices.most_users, None);
        assert!(!found.choices.hides_tuples && found.choices.inlines_constants);
        assert_eq!(found.opened, ["a", "b/%c"]);
        assert_eq!(look(&PageQuery::default()).radius, Some(1));
        let next = within(&route, "main");
        assert_eq!((look(&next.query).computation.as_deref(), look(&next.query).op), (Some("main"), None));
    }

    #[test]
    fn groups_and_choices_are_switched() {
        let mut query = PageQuery::default();
        for (id, all) in [("a", "a"), ("b/c", "a\nb/c"), ("a", "b/c")] {
            let value = toggled(&query, id);
            assert_eq!(value, all);
            query.options.insert(OPEN.to_owned(), value);
        }
        for (key, all) in [("users", "users"), ("tuples", "tuples,users"), ("users", "tuples")] {
            let value = switched(&query, key);
            assert_eq!(value, all);
            query.options.insert(SHOW.to_owned(), value);
        }
    }
}
