//! Who has ordered what. Bounded: when there are too many orders, the oldest goes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::accounts::Member;
use super::products;

/// How many orders are kept.
const MOST: usize = 65_536;
/// How many a list shows, the newest.
const SHOWN: usize = 20;
/// How often an invoice is asked for in vain before it is there.
const ASKED_IN_VAIN: u32 = 2;
const MOST_PIECES: u64 = 100;

/// What an order is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    product: u64,
    quantity: u64,
}

impl Wish {
    /// Reads `{ "product": 7, "quantity": 2 }`; what is not there is as in `below`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(body: &Value, below: Option<Wish>) -> Result<Wish, &'static str> {
        let number = |key: &str, known: Option<u64>| match &body[key] {
            Value::Null => known,
            value => value.as_u64(),
        };
        let product = number("product", below.map(|wish| wish.product));
        let product = product.filter(|id| products::price_cents(*id).is_some());
        let quantity = number("quantity", below.map(|wish| wish.quantity));
        let quantity = quantity.filter(|pieces| (1..=MOST_PIECES).contains(pieces));
        Ok(Wish {
            product: product.ok_or("'product' must be the number of a product, 1 to 100")?,
            quantity: quantity.ok_or("'quantity' must be a number from 1 to 100")?,
        })
    }
}

struct Order {
    owner: u32,
    wish: Wish,
    /// How often its invoice has been asked for.
    asked: u32,
}

impl Order {
    fn shown(&self, id: u64) -> Value {
        let Wish { product, quantity } = self.wish;
        json!({ "id": id, "product": product, "quantity": quantity, "total": self.total() })
    }

    fn total(&self) -> f64 {
        let cents = products::price_cents(self.wish.product).unwrap_or_default();
        (cents * self.wish.quantity) as f64 / 100.0
    }
}

#[derive(Default)]
struct Book {
    last: u64,
    orders: BTreeMap<u64, Order>,
    by_owner: BTreeSet<(u32, u64)>,
}

impl Book {
    fn of(&mut self, member: &Member, id: u64) -> Option<&mut Order> {
        let order = self.orders.get_mut(&id)?;
        (order.owner == member.0).then_some(order)
    }
}

/// All orders.
// One lock: a request holds it for some map look-ups.
#[derive(Default)]
pub(super) struct Orders(Mutex<Book>);

impl Orders {
    /// Enters an order and shows it.
    pub(super) fn add(&self, member: &Member, wish: Wish) -> Value {
        let mut book = self.book();
        book.last += 1;
        let id = book.last;
        let order = Order {
            owner: member.0,
            wish,
            asked: 0,
        };
        let shown = order.shown(id);
        book.by_owner.insert((member.0, id));
        book.orders.insert(id, order);
        if book.orders.len() > MOST
            && let Some((oldest, order)) = book.orders.pop_first()
        {
            book.by_owner.remove(&(order.owner, oldest));
        }
        shown
    }

    /// A member's newest orders.
    pub(super) fn list(&self, member: &Member) -> Value {
        let book = self.book();
        let own = book.by_owner.range((member.0, 0)..=(member.0, u64::MAX));
        let newest = own.rev().take(SHOWN);
        let shown = newest.filter_map(|(_, id)| book.orders.get(id).map(|order| order.shown(*id)));
        shown.collect()
    }

    pub(super) fn get(&self, member: &Member, id: u64) -> Option<Value> {
        Some(self.book().of(member, id)?.shown(id))
    }

    /// What the order is so far.
    pub(super) fn wish(&self, member: &Member, id: u64) -> Option<Wish> {
        Some(self.book().of(member, id)?.wish)
    }

    /// Changes an order and shows it.
    pub(super) fn change(&self, member: &Member, id: u64, wish: Wish) -> Option<Value> {
        let mut book = self.book();
        let order = book.of(member, id)?;
        order.wish = wish;
        Some(order.shown(id))
    }

    /// Whether there was such an order.
    pub(super) fn remove(&self, member: &Member, id: u64) -> bool {
        let mut book = self.book();
        let found = book.of(member, id).is_some();
        if found {
            book.orders.remove(&id);
            book.by_owner.remove(&(member.0, id));
        }
        found
    }

    /// The invoice of an order, or how often it was asked for while it is not there yet.
    pub(super) fn invoice(&self, member: &Member, id: u64) -> Option<Result<Value, u32>> {
        let mut book = self.book();
        let order = book.of(member, id)?;
        if order.asked < ASKED_IN_VAIN {
            order.asked += 1;
            return Some(Err(order.asked));
        }
        Some(Ok(json!({ "order": id, "due": order.total() })))
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WISH: Wish = Wish {
        product: 7,
        quantity: 2,
    };

    #[test]
    fn the_oldest_order_goes_when_there_are_too_many() {
        let orders = Orders::default();
        for _ in 0..MOST + 5 {
            orders.add(&Member(7), WISH);
        }
        assert!(orders.get(&Member(7), 5).is_none());
        assert!(orders.get(&Member(7), 6).is_some());
        let book = orders.book();
        assert_eq!((book.orders.len(), book.by_owner.len()), (MOST, MOST));
    }

    #[test]
    fn a_list_is_of_ones_own_newest_orders() {
        let orders = Orders::default();
        orders.add(&Member(8), WISH);
        for _ in 0..SHOWN + 1 {
            orders.add(&Member(7), WISH);
        }
        let list = orders.list(&Member(7));
        let list = list.as_array().expect("a list");
        assert_eq!((list.len(), &list[0]["id"]), (SHOWN, &json!(SHOWN + 2)));
        assert!(orders.get(&Member(7), 1).is_none());
        assert!(!orders.remove(&Member(7), 1));
    }

    #[test]
    fn a_wish_is_read_over_what_is_known() {
        let read = |body: Value, below| Wish::read(&body, below);
        assert_eq!(read(json!({ "product": 7, "quantity": 2 }), None), Ok(WISH));
        assert_eq!(read(json!({ "quantity": 2 }), Some(WISH)), Ok(WISH));
        for wrong in [
            json!({ "quantity": 2 }),
            json!({ "product": 101, "quantity": 2 }),
            json!({ "product": 7, "quantity": 0 }),
            json!({ "product": "7", "quantity": 2 }),
            json!([]),
        ] {
            assert!(read(wrong.clone(), None).is_err(), "{wrong}");
        }
    }
}
