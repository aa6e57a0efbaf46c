//! Points over time of the measurement under way, as they are sent: in the order in which they came or came anew, so that
//! a reader that knows the last one it got can have those since.

use super::changes::round_value;
use lgoose_metrics::SeriesPoint;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The points of a measurement.
#[derive(Debug, Default)]
pub(super) struct FeedPoints {
    /// JSON of each by its number.
    by_number: BTreeMap<u64, Box<str>>,
    /// Number and contents by the second in which a point begins.
    by_second: BTreeMap<u64, FeedPoint>,
    numbers: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct FeedPoint {
    number: u64,
    seconds: f64,
    count: u64,
}

impl FeedPoints {
    /// Takes the latest points of a snapshot, in order of time, many of which are known.
    pub(super) fn take(&mut self, latest: &[SeriesPoint]) {
        let mut ends = latest.iter().skip(1).map(|point| point.second);
        for point in latest {
            let end = ends.next();
            let existing = self.by_second.get(&point.second).copied();
            if existing.is_some_and(|existing| {
                existing.seconds == point.seconds && existing.count == point.count
            }) {
                continue;
            }
            let until = end.unwrap_or(u64::MAX);
            let covered: Vec<u64> = if until > point.second {
                self.by_second
                    .range(point.second..until)
                    .map(|(second, _)| *second)
                    .collect()
            } else {
                Vec::new()
            };
            let last = covered.last().copied();
            for second in covered {
                if let Some(existing) = self.by_second.remove(&second) {
                    self.by_number.remove(&existing.number);
                }
            }
            let until = last
                .map(|last| last + 1)
                .filter(|until| *until > point.second + 1);
            self.add(point, until);
        }
    }

    fn add(&mut self, point: &SeriesPoint, until: Option<u64>) {
        let mut value = serde_json::to_value(point).unwrap_or(Value::Null);
        round_value(&mut value);
        if let Some(fields) = value.as_object_mut() {
            fields.remove("histogram");
            fields.remove("failed_histogram");
            if let Some(until) = until {
                fields.insert("until".to_owned(), json!(until));
            }
        }
        self.numbers += 1;
        let text = value.to_string().into_boxed_str();
        self.by_number.insert(self.numbers, text);
        let existing = FeedPoint {
            number: self.numbers,
            seconds: point.seconds,
            count: point.count,
        };
        self.by_second.insert(point.second, existing);
    }

    /// Returns the JSON of at most so many points that came after that number, and the number of the last of them.
    pub(super) fn after(&self, number: u64, most: usize) -> (Vec<&str>, u64) {
        let range = self.by_number.range(number.saturating_add(1)..).take(most);
        let (numbers, texts): (Vec<u64>, Vec<&str>) =
            range.map(|(at, text)| (*at, &**text)).unzip();
        (texts, numbers.last().copied().unwrap_or(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(second: u64, seconds: f64, count: u64) -> SeriesPoint {
        SeriesPoint {
            second,
            seconds,
            count,
            histogram: "much".to_owned(),
            ..SeriesPoint::default()
        }
    }

    #[test]
    fn a_point_is_sent_once_and_anew_where_it_was_joined_with_others() {
        let mut points = FeedPoints::default();
        let first: Vec<_> = (0..4).map(|second| point(second, 1.0, second)).collect();
        points.take(&first);
        points.take(&first);
        let (texts, last) = points.after(0, 3);
        assert_eq!((texts.len(), last), (3, 3));
        assert!(!texts[0].contains("histogram"), "{}", texts[0]);
        let (texts, last) = points.after(3, 3);
        assert_eq!((texts.len(), last), (1, 4));
        points.take(&[point(0, 2.0, 1), point(2, 2.0, 5), point(4, 2.0, 9)]);
        let (texts, last) = points.after(4, 9);
        let values: Vec<Value> = texts
            .iter()
            .map(|text| serde_json::from_str(text).expect("JSON"))
            .collect();
        let until: Vec<_> = values
            .iter()
            .map(|value| (&value["second"], &value["until"]))
            .collect();
        assert_eq!(
            format!("{until:?}"),
            "[(Number(0), Number(2)), (Number(2), Number(4)), (Number(4), Null)]"
        );
        assert_eq!((last, points.numbers), (7, 7));
        assert_eq!(
            points.after(0, 9).0.len(),
            3,
            "those that were joined are gone"
        );
        assert_eq!(points.after(7, 9), (Vec::new(), 7));
    }
}
