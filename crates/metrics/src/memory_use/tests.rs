use super::devices::share;

#[test]
fn shares_of_nothing_are_nothing() {
    assert_eq!((share(1, 4), share(0, 0)), (25.0, 0.0));
}
