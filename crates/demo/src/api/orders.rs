//! The orders of the shop. Bounded: when there are too many, the oldest is dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::accounts::Customer;
use super::products;

/// The number of orders that are kept.
const MAX_ORDERS: usize = 65_536;
/// The number of orders that a list shows, the newest.
const SHOWN: usize = 20;
/// The number of requests for an invoice before it is ready.
const EARLY_INVOICE_REQUESTS: u32 = 2;
const MAX_PIECES: u64 = 100;

/// The product and the quantity of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderRequest {
    product: u64,
    quantity: u64,
}

impl OrderRequest {
    /// Reads `{ "product": 7, "quantity": 2 }`, with `below` for missing fields.
    ///
    /// # Errors
    /// The reason why it is no order.
    pub(super) fn read(
        body: &Value,
        below: Option<OrderRequest>,
    ) -> Result<OrderRequest, &'static str> {
        let number = |key: &str, existing: Option<u64>| match &body[key] {
            Value::Null => existing,
            value => value.as_u64(),
        };
        let product = number("product", below.map(|below_order| below_order.product));
        let product = product.filter(|id| products::price_cents(*id).is_some());
        let quantity = number("quantity", below.map(|below_order| below_order.quantity));
        let quantity = quantity.filter(|pieces| (1..=MAX_PIECES).contains(pieces));
        Ok(OrderRequest {
            product: product.ok_or("'product' must be the number of a product, 1 to 100")?,
            quantity: quantity.ok_or("'quantity' must be a number from 1 to 100")?,
        })
    }
}

struct ShopOrder {
    owner: u32,
    request: OrderRequest,
    /// The number of requests for its invoice so far.
    invoice_requests: u32,
}

impl ShopOrder {
    fn shown(&self, id: u64) -> Value {
        let OrderRequest { product, quantity } = self.request;
        json!({ "id": id, "product": product, "quantity": quantity, "total": self.total() })
    }

    fn total(&self) -> f64 {
        let cents = products::price_cents(self.request.product).unwrap_or_default();
        (cents * self.request.quantity) as f64 / 100.0
    }
}

#[derive(Default)]
struct OrderBook {
    last: u64,
    orders: BTreeMap<u64, ShopOrder>,
    by_owner: BTreeSet<(u32, u64)>,
}

impl OrderBook {
    fn of(&mut self, customer: &Customer, id: u64) -> Option<&mut ShopOrder> {
        let order = self.orders.get_mut(&id)?;
        (order.owner == customer.0).then_some(order)
    }
}

/// The orders of all customers.
// One lock: a request holds it for some map look-ups.
#[derive(Default)]
pub(super) struct Orders(Mutex<OrderBook>);

impl Orders {
    /// Enters an order and shows it.
    pub(super) fn add(&self, customer: &Customer, request: OrderRequest) -> Value {
        let mut book = self.book();
        book.last += 1;
        let id = book.last;
        let order = ShopOrder {
            owner: customer.0,
            request,
            invoice_requests: 0,
        };
        let shown = order.shown(id);
        book.by_owner.insert((customer.0, id));
        book.orders.insert(id, order);
        if book.orders.len() > MAX_ORDERS
            && let Some((oldest, order)) = book.orders.pop_first()
        {
            book.by_owner.remove(&(order.owner, oldest));
        }
        shown
    }

    /// The newest orders of a customer.
    pub(super) fn list(&self, customer: &Customer) -> Value {
        let book = self.book();
        let own = book
            .by_owner
            .range((customer.0, 0)..=(customer.0, u64::MAX));
        let newest = own.rev().take(SHOWN);
        let shown = newest.filter_map(|(_, id)| book.orders.get(id).map(|order| order.shown(*id)));
        shown.collect()
    }

    pub(super) fn get(&self, customer: &Customer, id: u64) -> Option<Value> {
        Some(self.book().of(customer, id)?.shown(id))
    }

    /// The product and the quantity of an order.
    pub(super) fn get_request(&self, customer: &Customer, id: u64) -> Option<OrderRequest> {
        Some(self.book().of(customer, id)?.request)
    }

    /// Changes an order and shows it.
    pub(super) fn change(
        &self,
        customer: &Customer,
        id: u64,
        request: OrderRequest,
    ) -> Option<Value> {
        let mut book = self.book();
        let order = book.of(customer, id)?;
        order.request = request;
        Some(order.shown(id))
    }

    /// Removes an order. Returns whether there was one.
    pub(super) fn remove(&self, customer: &Customer, id: u64) -> bool {
        let mut book = self.book();
        let found = book.of(customer, id).is_some();
        if found {
            book.orders.remove(&id);
            book.by_owner.remove(&(customer.0, id));
        }
        found
    }

    /// The invoice of an order, or the number of requests for it while it is not ready.
    pub(super) fn invoice(&self, customer: &Customer, id: u64) -> Option<Result<Value, u32>> {
        let mut book = self.book();
        let order = book.of(customer, id)?;
        if order.invoice_requests < EARLY_INVOICE_REQUESTS {
            order.invoice_requests += 1;
            return Some(Err(order.invoice_requests));
        }
        Some(Ok(json!({ "order": id, "due": order.total() })))
    }

    fn book(&self) -> MutexGuard<'_, OrderBook> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: OrderRequest = OrderRequest {
        product: 7,
        quantity: 2,
    };

    #[test]
    fn the_oldest_order_goes_when_there_are_too_many() {
        let orders = Orders::default();
        for _ in 0..MAX_ORDERS + 5 {
            orders.add(&Customer(7), REQUEST);
        }
        assert!(orders.get(&Customer(7), 5).is_none());
        assert!(orders.get(&Customer(7), 6).is_some());
        let book = orders.book();
        assert_eq!(
            (book.orders.len(), book.by_owner.len()),
            (MAX_ORDERS, MAX_ORDERS)
        );
    }

    #[test]
    fn a_list_is_of_ones_own_newest_orders() {
        let orders = Orders::default();
        orders.add(&Customer(8), REQUEST);
        for _ in 0..SHOWN + 1 {
            orders.add(&Customer(7), REQUEST);
        }
        let list = orders.list(&Customer(7));
        let list = list.as_array().expect("a list");
        assert_eq!((list.len(), &list[0]["id"]), (SHOWN, &json!(SHOWN + 2)));
        assert!(orders.get(&Customer(7), 1).is_none());
        assert!(!orders.remove(&Customer(7), 1));
    }

    #[test]
    fn an_order_is_read_over_what_is_stored() {
        let read = |body: Value, below| OrderRequest::read(&body, below);
        assert_eq!(
            read(json!({ "product": 7, "quantity": 2 }), None),
            Ok(REQUEST)
        );
        assert_eq!(read(json!({ "quantity": 2 }), Some(REQUEST)), Ok(REQUEST));
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
