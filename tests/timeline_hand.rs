//! Tests manual changes to the timeline: ranges that snap to the edges of events, flags and ranges that are kept, and
//! tracks that are arranged.

use crossprof::document::Block;
use crossprof::pages::PageQuery;
use crossprof::pages::timeline::{Action, Keep, Outcome, TrackChange, act, scene, tip};
use crossprof::timeline::{Bookmarks, RowContent, Scene, Sight, Stage};
use crossprof::{Session, Settings};
use serde_json::{Value, json};

/// One stream has `a` from 0 to 10 µs with `b` inside it from 2 to 5, then `c` from 30 to 1000. Another stream has `d` from
/// 8 to 12. The host has `f` from 0 to 1000.
fn hand_made() -> Value {
    let name = |pid: u32, tid: Option<u32>, name: &str| json!({"ph":"M","pid":pid,"tid":tid,"name":if tid.is_some() { "thread_name" } else { "process_name" },"args":{"name":name}});
    let event = |pid: u32, tid: u32, name: &str, start: u32, length: u32| json!({"ph":"X","pid":pid,"tid":tid,"name":name,"ts":start,"dur":length});
    json!({"traceEvents": [
        name(1, None, "/device:GPU:0"), name(2, None, "/host:CPU"), name(1, Some(1), "Stream #1(Compute)"),
        name(1, Some(2), "Stream #2(Compute)"), name(2, Some(1), "python"), event(1, 1, "a", 0, 10), event(1, 1, "b", 2, 3),
        event(1, 1, "c", 30, 970), event(1, 2, "d", 8, 4), event(2, 1, "f", 0, 1000),
    ]})
}

struct Hand {
    session: Session,
    stage: Stage,
    sight: Sight,
}

impl Hand {
    fn new() -> Hand {
        Hand::with(&hand_made())
    }

    fn with(trace: &Value) -> Hand {
        let (mut session, bytes) = (Session::new(), trace.to_string());
        let file = session.begin("hand.trace.json", Some(bytes.len() as u64));
        session.push(file, bytes.as_bytes());
        session.finish(file);
        session.runs();
        // A pixel is 100 ns.
        let range_ps = Some((0, 100_000_000));
        let sight = Sight { width: 1000, height: 900, scale: 1.0, range_ps, ..Sight::default() };
        Hand { session, stage: Stage::default(), sight }
    }

    fn look<T>(&mut self, look: impl FnOnce(&Scene<'_>, &Sight) -> T) -> T {
        let Hand { session, stage, sight } = self;
        let settings = Settings::default();
        session.timeline(0, &settings, |context, kept| look(&scene(context, kept, stage, sight), sight)).unwrap()
    }

    /// Performs an action, and applies its results in the same way as the page.
    fn act(&mut self, action: Action) -> Outcome {
        let Hand { session, stage, sight } = self;
        let (settings, query) = (Settings::default(), PageQuery::default());
        let outcome = session.timeline(0, &settings, |context, kept| act(context, kept, stage, sight, action, &query));
        let outcome = outcome.unwrap();
        if let Some(arrangement) = &outcome.arrangement {
            self.sight.arrangement.clone_from(arrangement);
        } else {
            self.sight.bookmark = outcome.bookmark.as_ref().map(|(bookmark, _)| *bookmark);
        }
        if let Some(bookmarks) = &outcome.bookmarks {
            self.sight.bookmarks.clone_from(bookmarks);
        }
        outcome
    }

    /// Returns the names of the tracks from top to bottom, with the middle of each track's first lane.
    fn tracks(&mut self) -> Vec<(String, f64)> {
        self.look(|scene, _| {
            let tracks = scene.layout.rows.iter().filter_map(|row| match row.content {
                RowContent::Track { id, .. } => Some((scene.track(id)?.name.clone(), f64::from(row.top) + 24.0 + 9.0)),
                RowContent::Heading { .. } => None,
            });
            tracks.collect()
        })
    }

    fn names(&mut self) -> Vec<String> {
        self.tracks()
            .into_iter()
            .map(|(name, _)| name)
            .filter(|name| name.contains("Stream") || name == "python")
            .collect()
    }

    fn y_of(&mut self, track: &str) -> f64 {
        self.tracks().into_iter().find(|(name, _)| name == track).unwrap().1
    }

    fn point(&mut self, x: f64, y: f64) {
        self.sight.pointer = Some((x, y));
    }
}

const FIRST: &str = "Stream #1(Compute)";
const SECOND: &str = "Stream #2(Compute)";

#[test]
fn a_selected_event_has_its_location_in_the_file() {
    let mut hand = Hand::new();
    let (mut captured, mut derived) = (Vec::new(), 0);
    for (track, y) in hand.tracks() {
        // This point is in the middle of `c` and `f`.
        hand.point(600.0, y);
        let outcome = hand.act(Action::Pick { pins: false });
        let is_derived = |block: &Block| matches!(block, Block::Note { text } if text.contains("derived"));
        match (outcome.event, outcome.in_file) {
            (Some(_), Some(place)) => captured.push((track, place)),
            (Some(_), None) => derived += usize::from(outcome.page.blocks.iter().any(is_derived)),
            (None, in_file) => assert_eq!(in_file, None),
        }
    }
    let place = |index| ("hand.trace.json".to_owned(), index);
    assert_eq!(captured, [("Stream #1(Compute)".to_owned(), place(2)), ("python".to_owned(), place(4))]);
    assert!(derived > 0);
}

#[test]
fn a_dragged_edge_snaps_to_the_lane_below_the_pointer() {
    let mut hand = Hand::new();
    let y = hand.y_of(FIRST);
    let mut at = |x: f64, y: f64| {
        hand.point(x, y);
        hand.look(|scene, sight| scene.snapped_ps(sight))
    };
    // a begins at 0 and ends at pixel 100. b is one lane below, from 20 to 50.
    assert_eq!(at(3.0, y), Some(0));
    assert_eq!(at(86.0, y), Some(10_000_000));
    assert_eq!(at(114.0, y), Some(10_000_000));
    assert_eq!(at(116.0, y), None);
    assert_eq!(at(290.0, y), Some(30_000_000));
    assert_eq!(at(44.0, y + 18.0), Some(5_000_000));
    assert_eq!(at(30.0, y + 18.0), Some(2_000_000));
    // There are no edges on the axis and outside the events.
    assert_eq!(at(100.0, 10.0), None);
    assert_eq!(at(-5.0, y), None);
    hand.sight.is_dragging = true;
    hand.point(50.0, y);
    assert!(hand.look(tip).is_empty());
}

#[test]
fn flags_are_set_named_visited_and_removed() {
    let mut hand = Hand::new();
    let y = hand.y_of(FIRST);
    hand.point(95.0, y);
    let outcome = hand.act(Action::Keep(Keep::Flag));
    assert_eq!((outcome.bookmark, outcome.range_ps), (Some((0, "1".to_owned())), Some((10_000_000, 10_000_000))));
    hand.act(Action::Keep(Keep::Rename("end; of a".to_owned())));
    hand.point(500.0, 10.0);
    hand.act(Action::Keep(Keep::Flag));
    assert_eq!(hand.sight.bookmarks, "10000000!end, of a;50000000!1");
    assert_eq!(hand.act(Action::Show).kept.0, ["end, of a at 10.0000 µs", "1 at 50.0000 µs"]);
    // The head of the flag is on the axis.
    hand.point(102.0, 5.0);
    let outcome = hand.act(Action::Pick { pins: false });
    assert_eq!(outcome.bookmark.map(|(_, name)| name).as_deref(), Some("end, of a"));
    assert_eq!(hand.look(tip), ["end, of a at 10.0000 µs"]);
    let next = hand.act(Action::Keep(Keep::Next { forward: true }));
    assert_eq!(next.bookmark, Some((1, "1".to_owned())));
    hand.act(Action::Keep(Keep::Next { forward: true }));
    hand.act(Action::Keep(Keep::Remove));
    assert_eq!((hand.sight.bookmarks.as_str(), hand.sight.bookmark), ("50000000!1", None));
}

#[test]
fn a_kept_range_is_selected_again_with_its_statistics() {
    let mut hand = Hand::new();
    let range = Keep::Range { range_ps: (0, 20_000_000), rows: None };
    let made = hand.act(Action::Keep(range));
    assert_eq!(hand.sight.bookmarks, "0-20000000!1");
    let area = hand.act(Action::Area { range_ps: (0, 20_000_000), rows: None, first_look: false });
    assert_eq!((area.bookmark.clone(), &area.page), (Some((0, "1".to_owned())), &made.page));
    assert_eq!(hand.act(Action::Area { range_ps: (0, 20_000_001), rows: None, first_look: false }).bookmark, None);
    assert_eq!(hand.act(Action::Keep(Keep::Show(0))).page, made.page);
    assert_eq!(hand.act(Action::Keep(Keep::Show(7))).bookmark, None);
}

#[test]
fn a_first_look_at_a_range_is_the_beginning_of_its_table() {
    let event = |at: u32| json!({"ph":"X","pid":1,"tid":1,"name":format!("f{at}"),"ts":at * 10,"dur":at % 7 + 1});
    let mut hand = Hand::with(&json!({"traceEvents": (0..250).map(event).collect::<Vec<_>>()}));
    let mut rows = |first_look: bool| {
        let area = hand.act(Action::Area { range_ps: (0, 2_600_000_000), rows: None, first_look });
        let table = area.page.blocks.into_iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let table = table.unwrap();
        assert_eq!((table.matched_rows, table.total_rows), (250, 250));
        (table.rows, area.has_more_rows)
    };
    let ((first, has_more), (whole, has_yet_more)) = (rows(true), rows(false));
    assert_eq!((has_more, has_yet_more), (true, false));
    assert_eq!((first.len(), whole.len()), (50, 250));
    assert_eq!(first, whole[..50]);
}

#[test]
fn tracks_are_hidden_moved_and_pinned() {
    let mut hand = Hand::new();
    assert_eq!(hand.names(), [FIRST, SECOND, "python"]);
    let y = hand.y_of(SECOND);
    hand.point(-9.0, y);
    hand.act(Action::Arrange(TrackChange::Up));
    assert_eq!(hand.names(), [SECOND, FIRST, "python"]);
    let (from, to) = (hand.y_of(SECOND), hand.y_of(FIRST));
    hand.point(-9.0, to);
    hand.act(Action::Arrange(TrackChange::Move { from: (-9.0, from) }));
    assert_eq!(
        (hand.names(), hand.sight.arrangement.as_str()),
        (vec![FIRST.to_owned(), SECOND.to_owned(), "python".to_owned()], "")
    );
    let y = hand.y_of(FIRST);
    hand.point(-9.0, y);
    hand.act(Action::Pick { pins: true });
    assert_eq!(hand.names(), [FIRST, FIRST, SECOND, "python"]);
    let y = hand.y_of(SECOND);
    hand.point(-9.0, y);
    hand.act(Action::Arrange(TrackChange::Hide));
    assert_eq!(hand.names(), [FIRST, FIRST, "python"]);
    assert_eq!(hand.act(Action::Show).kept.1, 1);
    hand.act(Action::Arrange(TrackChange::ShowHidden));
    assert_eq!(hand.names(), [FIRST, FIRST, SECOND, "python"]);
}

#[test]
fn damaged_addresses_are_a_timeline_without_marks() {
    let mut hand = Hand::new();
    hand.sight.arrangement = "h9.9-p8.8-m0.0.99-m7.1.1-t5-x".to_owned();
    hand.sight.bookmarks = format!("-1;x;9223372036854775807!far;0-{}!long", i64::MAX);
    hand.sight.bookmark = Some(77);
    hand.point(1.0, 1.0);
    hand.act(Action::Pick { pins: false });
    assert_eq!(hand.act(Action::Show).kept.1, 0);
    hand.look(|scene, _| scene.draw(&mut crossprof::timeline::Svg::default()));
    for action in [Keep::Next { forward: false }, Keep::Show(1), Keep::Rename(String::new()), Keep::Flag, Keep::Remove]
    {
        hand.act(Action::Keep(action));
    }
    assert!(Bookmarks::parse(&hand.sight.bookmarks).all().len() >= 2);
}
