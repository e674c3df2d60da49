-- holds: where unpaid orders came from, and less time to pay after an unpaid one.
-- In      items, sales.terms of 0024, orders
-- Out     holds: of orders in sales with hold limits, the network and the claims behind them; pay_again, shorten_pay_by and its trigger: "holds"
--         of sales.terms may have payAgainMs
-- Keeps   no order depends on a row of holds: it is written after the order, best effort, and deleted when it counts no more. Processes of the version
--         before place as before; the trigger shortens pay_by for them too

CREATE TABLE holds (
  order_id bigint PRIMARY KEY,
  item     bigint NOT NULL REFERENCES items (id) ON DELETE CASCADE,
  sale     bigint NOT NULL,
  -- Empty: not known.
  network  text NOT NULL DEFAULT '',
  -- name-hash of each claim that the ticket carried.
  marks    text[] NOT NULL DEFAULT '{}',
  -- Counts no more from then on, and is deleted.
  until    timestamptz NOT NULL
);
CREATE INDEX holds_sale ON holds (sale);
CREATE INDEX holds_until ON holds (until);

CREATE OR REPLACE FUNCTION pay_again(p_sale bigint, p_placed_at timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT p_placed_at + (s.terms -> 'holds' ->> 'payAgainMs')::bigint * interval '1 millisecond' FROM sales s WHERE s.id = p_sale
$$;

CREATE OR REPLACE FUNCTION shorten_pay_by() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT least(NEW.pay_by, pay_again(i.sale, NEW.placed_at)) INTO NEW.pay_by FROM items i WHERE i.id = NEW.item;
  RETURN NEW;
END
$$;

CREATE TRIGGER order_again BEFORE INSERT ON orders FOR EACH ROW WHEN (NEW.attempt > 1 AND NEW.state = 'pending')
  EXECUTE FUNCTION shorten_pay_by();
