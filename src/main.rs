#![doc = "x"] fn main(){}
