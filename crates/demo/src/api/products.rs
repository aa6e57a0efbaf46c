//! The products of the shop: 100 that never change.

use serde_json::{Value, json};

/// The number of products, which are numbered from 1.
pub(super) const COUNT: u64 = 100;

const KINDS: [&str; 10] = [
    "kettle", "lamp", "chair", "bowl", "clock", "basket", "mirror", "shelf", "carpet", "vase",
];
const COLOURS: [&str; 10] = [
    "red", "blue", "green", "white", "black", "grey", "yellow", "brown", "orange", "purple",
];
const MAKERS: [(&str, &str); 3] = [
    ("Holm & Daughters", "Sweden"),
    ("Casa Prado", "Spain"),
    ("Ishida", "Japan"),
];

/// The price of a product in cents; `None` if there is no such product.
pub(super) fn price_cents(id: u64) -> Option<u64> {
    (1..=COUNT).contains(&id).then(|| 499 + id * 37 % 200 * 100)
}

/// A product as the API shows it.
pub(super) fn product(id: u64) -> Option<Value> {
    let cents = price_cents(id)?;
    let place = (id - 1) as usize;
    let (maker, country) = MAKERS[place % MAKERS.len()];
    Some(json!({
        "id": id,
        "name": format!("{} {}", COLOURS[place / KINDS.len()], KINDS[place % KINDS.len()]),
        "price": cents as f64 / 100.0,
        "maker": { "name": maker, "country": country },
    }))
}

/// The first `first` products.
pub(super) fn list(first: u64) -> Value {
    (1..=first.min(COUNT)).filter_map(product).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_up_to_the_last_is_a_product_with_a_name_of_its_own() {
        let products = list(u64::MAX);
        let products = products.as_array().expect("a list");
        assert_eq!(products.len(), 100);
        let names = products.iter().map(|product| product["name"].to_string());
        let names: std::collections::BTreeSet<_> = names.collect();
        assert_eq!(names.len(), 100);
        assert!(product(0).is_none() && product(101).is_none());
    }
}
