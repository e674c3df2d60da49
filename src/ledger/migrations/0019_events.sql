-- events: what the shop hears. A table of events, written by the functions that change orders and stock, in their transactions.
-- In      the tables of 0001 and 0003, the trigger of 0018
-- Out     events, event_head, sales.opened; note_events, note_stock, note_paid, note_refund_due, note_closing_soon, number_events, sweep_events; place,
--         place_directly, place_together, refuse_order, close_orders, refund_order, ask_change, settle_change and mark_reported write events,
--         and so does every statement that pays an order or makes money due for refund, whichever version of Stampede runs them
-- Keeps   an event is committed if and only if its change is. Numbers come later, in one place: first is NULL until then

-- One row holds `count` events of one kind, with the numbers from `first` on. orders: one event each, in their order; items: one of all
-- orders, or one for each; without orders one event each. sale: of events of a sale; data: a sale's results, a payment. Buyers, prices and states are read from the orders.
CREATE TABLE events (
  id     bigint GENERATED ALWAYS AS IDENTITY,
  first  bigint,
  count  int NOT NULL DEFAULT 1 CHECK (count >= 1),
  type   text NOT NULL,
  at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  sale   bigint,
  items  bigint[],
  orders bigint[],
  data   jsonb
);
-- Ids do not compress well, and a row is written again when it gets its number: a long list stays where it is.
ALTER TABLE events ALTER COLUMN orders SET STORAGE EXTERNAL, ALTER COLUMN items SET STORAGE EXTERNAL;
-- What has no number yet: a handful of rows. An insert touches this index alone.
CREATE INDEX events_new ON events (id) WHERE first IS NULL;
CREATE UNIQUE INDEX events_numbered ON events (first) WHERE first IS NOT NULL;

-- One row. last: the highest number given; swept: numbers up to this one are deleted; closing_soon: up to this end of the time to pay all
-- orders have been looked at, and those that are told as closing soon are written.
CREATE TABLE event_head (
  one          boolean PRIMARY KEY DEFAULT true CHECK (one),
  last         bigint NOT NULL DEFAULT 0,
  swept        bigint NOT NULL DEFAULT 0,
  closing_soon timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO event_head DEFAULT VALUES;

-- Has sale.opened been written? What opened before is no news; a draft has not opened, whatever its window says.
ALTER TABLE sales ADD COLUMN opened boolean NOT NULL DEFAULT false;
UPDATE sales SET opened = true WHERE opens_at <= clock_timestamp() AND state <> 'draft';
CREATE INDEX sales_to_open ON sales (opens_at) WHERE NOT opened AND NOT reported AND state = 'ready';

CREATE OR REPLACE FUNCTION note_events(p_type text, p_items bigint[], p_orders bigint[], p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('stampede.events', true) = 'off' THEN RETURN; END IF;
  INSERT INTO events (type, count, at, items, orders) VALUES (p_type, cardinality(coalesce(p_orders, p_items)), p_at, p_items, p_orders);
END
$$;

CREATE OR REPLACE FUNCTION note_stock(p_item bigint, p_sale bigint, p_before bigint, p_after bigint, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  s sales%ROWTYPE;
BEGIN
  IF (p_before = 0) = (p_after = 0) THEN RETURN; END IF;
  SELECT * INTO s FROM sales WHERE id = p_sale;
  IF s.state = 'draft' THEN RETURN; END IF;
  IF p_after = 0 THEN
    PERFORM note_events('item.sold_out', ARRAY[p_item], NULL, p_at);
  ELSIF s.state <> 'over' AND p_at < s.closes_at THEN
    PERFORM note_events('item.back', ARRAY[p_item], NULL, p_at);
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION note_paid() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM note_events('order.paid', ARRAY[NEW.item], ARRAY[NEW.id], coalesce(NEW.paid_at, clock_timestamp()));
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION note_refund_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('stampede.events', true) = 'off' THEN RETURN NULL; END IF;
  INSERT INTO events (type, items, orders, data)
  VALUES ('payment.refund_due', ARRAY[NEW.item], ARRAY[NEW.order_id], jsonb_build_object('id', NEW.id::text, 'provider', NEW.provider,
          'ref', NEW.ref, 'amount', NEW.amount_minor, 'currency', NEW.currency, 'why', NEW.why));
  RETURN NULL;
END
$$;

-- Closing writes its orders in one statement: only a change to paid is called for.
CREATE TRIGGER order_paid AFTER UPDATE OF state ON orders FOR EACH ROW WHEN (OLD.state = 'pending' AND NEW.state = 'paid')
  EXECUTE FUNCTION note_paid();
CREATE TRIGGER payment_refund_due AFTER UPDATE OF state ON payments FOR EACH ROW WHEN (NEW.state = 'refund_due' AND OLD.state <> 'refund_due')
  EXECUTE FUNCTION note_refund_due();

CREATE OR REPLACE FUNCTION note_closing_soon(p_before_ms bigint, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_before interval := p_before_ms * interval '1 millisecond';
  v_from   timestamptz;
  v_until  timestamptz;
  v_to     timestamptz;
  v_orders bigint[];
  v_items  bigint[];
  v_looked int;
BEGIN
  SELECT greatest(h.closing_soon, clock_timestamp()), clock_timestamp() + v_before INTO v_from, v_until FROM event_head h;
  PERFORM 1 FROM orders WHERE state = 'pending' AND pay_by > v_from AND pay_by <= v_until ORDER BY pay_by LIMIT 1;
  IF NOT FOUND THEN RETURN 0; END IF;
  SELECT greatest(h.closing_soon, clock_timestamp()) INTO v_from FROM event_head h FOR UPDATE;
  SELECT count(*), max(o.pay_by), array_agg(o.id ORDER BY o.pay_by, o.id) FILTER (WHERE o.told),
         array_agg(o.item ORDER BY o.pay_by, o.id) FILTER (WHERE o.told)
  INTO v_looked, v_to, v_orders, v_items
  FROM (
    SELECT id, item, pay_by, pay_by - placed_at >= 2 * v_before AS told FROM orders
    WHERE state = 'pending' AND pay_by > v_from AND pay_by <= v_until
    -- Orders that were placed together end together: none of them is left behind the mark.
    ORDER BY pay_by FETCH FIRST p_max ROWS WITH TIES) o;
  IF v_looked = 0 THEN RETURN 0; END IF;
  IF v_orders IS NOT NULL THEN PERFORM note_events('order.closing_soon', v_items, v_orders, clock_timestamp()); END IF;
  UPDATE event_head SET closing_soon = v_to;
  RETURN v_looked;
END
$$;

CREATE OR REPLACE FUNCTION number_events(p_max int) RETURNS TABLE (newest bigint, rows int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_last bigint;
  v_rows int := 0;
  e      record;
BEGIN
  -- A look that writes nothing: most of the time there is nothing to number.
  PERFORM 1 FROM events WHERE first IS NULL ORDER BY id LIMIT 1;
  IF NOT FOUND THEN
    RETURN QUERY SELECT h.last, 0 FROM event_head h;
    RETURN;
  END IF;
  SELECT h.last INTO v_last FROM event_head h FOR UPDATE;
  -- Read after the lock was granted: what another caller has numbered meanwhile is not found.
  FOR e IN SELECT id, count FROM events WHERE first IS NULL ORDER BY id LIMIT p_max LOOP
    UPDATE events SET first = v_last + 1 WHERE id = e.id AND first IS NULL;
    v_last := v_last + e.count;
    v_rows := v_rows + 1;
  END LOOP;
  UPDATE event_head SET last = v_last;
  RETURN QUERY SELECT v_last, v_rows;
END
$$;

CREATE OR REPLACE FUNCTION sweep_events(p_kept_ms bigint, p_max int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
  v_before timestamptz := clock_timestamp() - p_kept_ms * interval '1 millisecond';
  v_until  bigint;
  v_rows   int;
BEGIN
  PERFORM 1 FROM (SELECT at FROM events WHERE first IS NOT NULL ORDER BY first LIMIT 1) oldest WHERE at < v_before;
  IF NOT FOUND THEN RETURN 0; END IF;
  PERFORM 1 FROM event_head FOR UPDATE;
  SELECT coalesce(min(first) FILTER (WHERE at >= v_before) - 1, max(first + count - 1)) INTO v_until
  FROM (SELECT first, count, at FROM events WHERE first IS NOT NULL ORDER BY first LIMIT p_max) page;
  DELETE FROM events WHERE first <= v_until;
  GET DIAGNOSTICS v_rows = ROW_COUNT;
  UPDATE event_head SET swept = v_until WHERE swept < v_until;
  RETURN v_rows;
END
$$;

CREATE OR REPLACE FUNCTION place(
  p_item bigint, p_epoch bigint, p_acknowledged boolean,
  p_ids bigint[], p_buyers text[], p_attempts int[], p_quantities int[], p_reserved_ms bigint[]
) RETURNS TABLE (
  status text, sale bigint, price_minor bigint, currency text, placed_at timestamptz, pay_by timestamptz, available int, odd jsonb
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v         items%ROWTYPE;
  n         int := cardinality(p_ids);
  v_now     timestamptz;
  v_pay_by  timestamptz;
  wanted    bigint;
  least_q   int;
  most_q    int;
  current_epoch boolean;
  taken     int := 0;
  placed    bigint[] := '{}';
  refused   bigint[] := '{}';
  oddities  jsonb := NULL;
  o         orders%ROWTYPE;
  standing  bigint;
BEGIN
  -- The usual case: the epoch is right, all fit and nobody collides with a row that stands, so their order does not matter. One update
  -- that locks, judges and takes, and one plain insert: asking for conflicts beforehand would look into every unique index twice.
  -- A collision undoes both and everybody is looked at one by one below, under a lock taken anew.
  SELECT sum(q), min(q), max(q) INTO wanted, least_q, most_q FROM unnest(p_quantities) AS q;
  BEGIN
    UPDATE items SET available = available - wanted
    WHERE id = p_item AND gate_epoch = p_epoch AND available >= wanted AND least_q >= 1 AND quantity_max >= most_q
    RETURNING * INTO v;
    IF FOUND THEN
      -- Read after the lock was granted, so that placed_at follows the order of placing.
      v_now := clock_timestamp();
      v_pay_by := v_now + v.pay_within_ms * interval '1 millisecond';
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      SELECT a.id, p_item, a.buyer, a.attempt, a.quantity, v.price_minor, v.currency, 'pending', p_epoch,
             to_timestamp(a.reserved_ms / 1000.0), v_now, v_pay_by
      FROM unnest(p_ids, p_buyers, p_attempts, p_quantities, p_reserved_ms) AS a (id, buyer, attempt, quantity, reserved_ms);
      PERFORM note_events('order.placed', ARRAY[p_item], p_ids, v_now);
      IF v.available = 0 THEN PERFORM note_stock(p_item, v.sale, wanted, 0, v_now); END IF;
      RETURN QUERY SELECT 'ok'::text, v.sale, v.price_minor, v.currency, v_now, v_pay_by, v.available, NULL::jsonb;
      RETURN;
    END IF;
  EXCEPTION WHEN unique_violation THEN
    NULL;
  END;

  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'no_item'::text, NULL::bigint, NULL::bigint, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::int, NULL::jsonb;
    RETURN;
  END IF;
  current_epoch := p_epoch = v.gate_epoch;
  IF NOT current_epoch AND NOT p_acknowledged THEN
    RETURN QUERY SELECT 'stale'::text, v.sale, v.price_minor, v.currency, NULL::timestamptz, NULL::timestamptz, v.available, NULL::jsonb;
    RETURN;
  END IF;
  -- No fast path leads here: the archive has set gate_epoch to 0.
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, p_ids, p_buyers); END IF;
  v_now := clock_timestamp();
  v_pay_by := v_now + v.pay_within_ms * interval '1 millisecond';

  FOR i IN 1..n LOOP
    SELECT * INTO o FROM orders WHERE id = p_ids[i] AND item = p_item;
    IF FOUND THEN
      oddities := coalesce(oddities, '[]'::jsonb) || CASE
        WHEN o.buyer = p_buyers[i] THEN jsonb_build_object('i', i - 1, 'verdict', 'same', 'order', to_jsonb(o) || jsonb_build_object('id', o.id::text, 'superseded_by', o.superseded_by::text))
        ELSE jsonb_build_object('i', i - 1, 'verdict', 'foreign') END;
      CONTINUE;
    END IF;

    -- Another order of this buyer stands: a live one, or one that used this very attempt.
    SELECT s.id INTO standing FROM orders s
    WHERE s.buyer = p_buyers[i] AND s.item = p_item AND s.reason IS DISTINCT FROM 'refused'
      AND (s.state <> 'closed' OR s.attempt = p_attempts[i])
    ORDER BY s.state <> 'closed' DESC LIMIT 1;

    IF standing IS NULL AND current_epoch AND p_quantities[i] BETWEEN 1 AND v.quantity_max AND p_quantities[i] <= v.available - taken THEN
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      VALUES (p_ids[i], p_item, p_buyers[i], p_attempts[i], p_quantities[i], v.price_minor, v.currency, 'pending', p_epoch,
              to_timestamp(p_reserved_ms[i] / 1000.0), v_now, v_pay_by);
      taken := taken + p_quantities[i];
      placed := placed || p_ids[i];
    ELSE
      -- E7: a refusal is a row too, and never stands in the way of the order that does.
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, superseded_by, epoch,
                          reserved_at, placed_at, closed_at)
      VALUES (p_ids[i], p_item, p_buyers[i], p_attempts[i], greatest(p_quantities[i], 1), v.price_minor, v.currency, 'closed', 'refused',
              standing, p_epoch, to_timestamp(p_reserved_ms[i] / 1000.0), v_now, v_now)
      RETURNING * INTO o;
      oddities := coalesce(oddities, '[]'::jsonb) || jsonb_build_object('i', i - 1, 'verdict', 'refused', 'order',
        to_jsonb(o) || jsonb_build_object('id', o.id::text, 'superseded_by', o.superseded_by::text));
      refused := refused || p_ids[i];
    END IF;
  END LOOP;

  IF taken > 0 THEN
    UPDATE items SET available = available - taken WHERE id = p_item;
    PERFORM note_events('order.placed', ARRAY[p_item], placed, v_now);
    PERFORM note_stock(p_item, v.sale, v.available, v.available - taken, v_now);
  END IF;
  IF cardinality(refused) > 0 THEN PERFORM note_events('order.closed', ARRAY[p_item], refused, v_now); END IF;
  RETURN QUERY SELECT 'ok'::text, v.sale, v.price_minor, v.currency, v_now, v_pay_by, v.available - taken, oddities;
END
$$;

CREATE OR REPLACE FUNCTION place_directly(
  p_item bigint, p_epoch bigint,
  p_ids bigint[], p_buyers text[], p_attempts int[], p_quantities int[], p_reserved_ms bigint[]
) RETURNS TABLE (
  status text, sale bigint, price_minor bigint, currency text, placed_at timestamptz, pay_by timestamptz, available int, odd jsonb
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v             items%ROWTYPE;
  v_sale        sales%ROWTYPE;
  n             int := cardinality(p_ids);
  v_now         timestamptz;
  v_pay_by      timestamptz;
  v_status      text;
  wanted        bigint;
  least_q       int;
  most_q        int;
  least_attempt int;
  most_attempt  int;
  taken         int := 0;
  placed        bigint[] := '{}';
  oddities      jsonb := NULL;
  v_verdict     text;
  known         boolean[];
  o             orders%ROWTYPE;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'no_item'::text, NULL::bigint, NULL::bigint, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::int, NULL::jsonb;
    RETURN;
  END IF;
  IF v.door <> 'ledger' OR v.epoch <> p_epoch THEN
    RETURN QUERY SELECT 'stale'::text, v.sale, v.price_minor, v.currency, NULL::timestamptz, NULL::timestamptz, v.available, NULL::jsonb;
    RETURN;
  END IF;

  -- Read after the lock was granted, however long that took: an operator's word or the end of the window may have come meanwhile.
  v_now := clock_timestamp();
  v_pay_by := v_now + v.pay_within_ms * interval '1 millisecond';
  SELECT * INTO v_sale FROM sales WHERE id = v.sale;
  v_status := CASE
    WHEN v_sale.state NOT IN ('ready', 'paused') OR v_now >= v_sale.closes_at THEN 'over'
    WHEN v_now < v_sale.opens_at THEN 'early'
    WHEN v_sale.state = 'paused' THEN 'paused'
    ELSE 'ok' END;

  -- The usual case: all fit and nobody collides with a row that stands, so their order does not matter. A collision undoes the insert, and
  -- everybody is looked at one by one below, under the same lock.
  SELECT sum(a.q), min(a.q), max(a.q), min(a.attempt), max(a.attempt) INTO wanted, least_q, most_q, least_attempt, most_attempt
  FROM unnest(p_quantities, p_attempts) AS a (q, attempt);
  IF v_status = 'ok' AND wanted <= v.available AND least_q >= 1 AND most_q <= v.quantity_max
     AND least_attempt >= 1 AND most_attempt <= v.attempts_max THEN
    BEGIN
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      SELECT a.id, p_item, a.buyer, a.attempt, a.quantity, v.price_minor, v.currency, 'pending', p_epoch,
             to_timestamp(a.reserved_ms / 1000.0), v_now, v_pay_by
      FROM unnest(p_ids, p_buyers, p_attempts, p_quantities, p_reserved_ms) AS a (id, buyer, attempt, quantity, reserved_ms);
      UPDATE items SET available = available - wanted WHERE id = p_item;
      PERFORM note_events('order.placed', ARRAY[p_item], p_ids, v_now);
      IF v.available = wanted THEN PERFORM note_stock(p_item, v.sale, wanted, 0, v_now); END IF;
      RETURN QUERY SELECT v_status, v.sale, v.price_minor, v.currency, v_now, v_pay_by, (v.available - wanted)::int, NULL::jsonb;
      RETURN;
    EXCEPTION WHEN unique_violation THEN
      NULL;
    END;
  END IF;

  -- One question for the whole batch: whose id or buyer has any row, or comes twice here? Only those are looked up one by one.
  SELECT array_agg(a.twice OR by_id.id IS NOT NULL OR by_buyer.id IS NOT NULL ORDER BY a.i) INTO known
  FROM (SELECT u.*, count(*) OVER (PARTITION BY u.id) > 1 OR count(*) OVER (PARTITION BY u.buyer) > 1 AS twice
        FROM unnest(p_ids, p_buyers) WITH ORDINALITY AS u (id, buyer, i)) a
  LEFT JOIN LATERAL (SELECT id FROM orders WHERE id = a.id AND item = p_item LIMIT 1) by_id ON true
  LEFT JOIN LATERAL (
    SELECT id FROM orders WHERE buyer = a.buyer AND item = p_item AND reason IS DISTINCT FROM 'refused' LIMIT 1) by_buyer ON true;

  FOR i IN 1..n LOOP
    v_verdict := NULL;
    IF known[i] THEN
      SELECT * INTO o FROM orders WHERE id = p_ids[i] AND item = p_item;
      IF FOUND THEN
        v_verdict := CASE WHEN o.buyer = p_buyers[i] THEN 'same' ELSE 'foreign' END;
      ELSE
        -- This very attempt, or else another order of this buyer that is alive. Written so that the index orders_attempt serves it.
        SELECT * INTO o FROM orders
        WHERE buyer = p_buyers[i] AND item = p_item AND reason IS DISTINCT FROM 'refused'
          AND (attempt = p_attempts[i] OR state <> 'closed')
        ORDER BY attempt = p_attempts[i] DESC LIMIT 1;
        IF FOUND THEN v_verdict := 'same'; END IF;
      END IF;
    END IF;
    v_verdict := CASE
      WHEN v_verdict IS NOT NULL THEN v_verdict
      WHEN v_status <> 'ok' THEN 'not_now'
      WHEN p_attempts[i] NOT BETWEEN 1 AND v.attempts_max THEN 'attempts_used'
      WHEN p_quantities[i] NOT BETWEEN 1 AND v.quantity_max OR p_quantities[i] > v.available - taken THEN 'not_enough' END;

    IF v_verdict IS NULL THEN
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      VALUES (p_ids[i], p_item, p_buyers[i], p_attempts[i], p_quantities[i], v.price_minor, v.currency, 'pending', p_epoch,
              to_timestamp(p_reserved_ms[i] / 1000.0), v_now, v_pay_by);
      taken := taken + p_quantities[i];
      placed := placed || p_ids[i];
    ELSE
      oddities := coalesce(oddities, '[]'::jsonb) || CASE v_verdict
        WHEN 'same' THEN jsonb_build_object('i', i - 1, 'verdict', v_verdict, 'order',
          to_jsonb(o) || jsonb_build_object('id', o.id::text, 'superseded_by', o.superseded_by::text))
        ELSE jsonb_build_object('i', i - 1, 'verdict', v_verdict) END;
    END IF;
  END LOOP;

  IF taken > 0 THEN
    UPDATE items SET available = available - taken WHERE id = p_item;
    PERFORM note_events('order.placed', ARRAY[p_item], placed, v_now);
    PERFORM note_stock(p_item, v.sale, v.available, v.available - taken, v_now);
  END IF;
  RETURN QUERY SELECT v_status, v.sale, v.price_minor, v.currency, v_now, v_pay_by, v.available - taken, oddities;
END
$$;

CREATE OR REPLACE FUNCTION place_together(
  p_items bigint[], p_epochs bigint[], p_acknowledged boolean[],
  p_nth int[], p_ids bigint[], p_buyers text[], p_attempts int[], p_quantities int[], p_reserved_ms bigint[]
) RETURNS TABLE (
  nth int, status text, sale bigint, price_minor bigint, currency text, placed_at timestamptz, pay_by timestamptz, available int, odd jsonb
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  ours  bigint[];
  done  placed_batch[];
  rest  int[];
  v_now timestamptz;
  placed  bigint[];
  of_item bigint[];
BEGIN
  SELECT array_agg(id) INTO ours
  FROM (SELECT id FROM items WHERE id = ANY (p_items) FOR NO KEY UPDATE SKIP LOCKED) AS free;
  v_now := clock_timestamp();

  -- The usual case, for all at once, as in place: what fits is taken and inserted; a collision undoes all of it.
  BEGIN
    WITH batch AS (
      SELECT b.nth, b.item, b.epoch, a.wanted, a.least, a.most
      FROM unnest(p_items, p_epochs) WITH ORDINALITY AS b (item, epoch, nth)
      JOIN (SELECT n, sum(q) AS wanted, min(q) AS least, max(q) AS most FROM unnest(p_nth, p_quantities) AS x (n, q) GROUP BY n) AS a ON a.n = b.nth
    ), taken AS (
      UPDATE items i SET available = i.available - b.wanted
      FROM batch b
      WHERE i.id = b.item AND i.id = ANY (ours) AND i.gate_epoch = b.epoch AND i.available >= b.wanted AND b.least >= 1 AND i.quantity_max >= b.most
      RETURNING b.nth, i.id, i.sale, i.price_minor, i.currency, i.gate_epoch, v_now + i.pay_within_ms * interval '1 millisecond' AS pay_by, i.available
    ), inserted AS (
      INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, epoch, reserved_at, placed_at, pay_by)
      SELECT a.id, t.id, a.buyer, a.attempt, a.quantity, t.price_minor, t.currency, 'pending', t.gate_epoch,
             to_timestamp(a.reserved_ms / 1000.0), v_now, t.pay_by
      FROM unnest(p_nth, p_ids, p_buyers, p_attempts, p_quantities, p_reserved_ms) AS a (nth, id, buyer, attempt, quantity, reserved_ms)
      JOIN taken t ON t.nth = a.nth
    )
    SELECT array_agg((t.nth, t.sale, t.price_minor, t.currency, t.pay_by, t.available)::placed_batch), array_agg(t.nth)
    INTO done, rest FROM taken t;
  EXCEPTION WHEN unique_violation THEN
    done := NULL;
    rest := NULL;
  END;
  IF done IS NOT NULL THEN
    SELECT array_agg(p_items[a.nth] ORDER BY a.i), array_agg(a.id ORDER BY a.i) INTO of_item, placed
    FROM unnest(p_nth, p_ids) WITH ORDINALITY AS a (nth, id, i) WHERE cardinality(rest) = cardinality(p_items) OR a.nth = ANY (rest);
    PERFORM note_events('order.placed', of_item, placed, v_now);
    PERFORM note_stock(p_items[d.nth], d.sale, 1, 0, v_now) FROM unnest(done) AS d WHERE d.available = 0;
  END IF;
  RETURN QUERY SELECT d.nth, 'ok'::text, d.sale, d.price_minor, d.currency, v_now, d.pay_by, d.available, NULL::jsonb FROM unnest(done) AS d;

  -- Whoever is left is looked at alone.
  FOR k IN 1..cardinality(p_items) LOOP
    CONTINUE WHEN k = ANY (rest);
    IF p_items[k] = ANY (ours) THEN
      RETURN QUERY
        SELECT k, p.status, p.sale, p.price_minor, p.currency, p.placed_at, p.pay_by, p.available, p.odd
        FROM (SELECT array_agg(id ORDER BY i) AS ids, array_agg(buyer ORDER BY i) AS buyers, array_agg(attempt ORDER BY i) AS attempts,
                     array_agg(quantity ORDER BY i) AS quantities, array_agg(ms ORDER BY i) AS reserved
              FROM unnest(p_nth, p_ids, p_buyers, p_attempts, p_quantities, p_reserved_ms) WITH ORDINALITY
                AS a (nth, id, buyer, attempt, quantity, ms, i)
              WHERE a.nth = k) AS mine,
             place(p_items[k], p_epochs[k], p_acknowledged[k], mine.ids, mine.buyers, mine.attempts, mine.quantities, mine.reserved) AS p;
    ELSE
      RETURN QUERY SELECT k, 'locked'::text, NULL::bigint, NULL::bigint, NULL::text, NULL::timestamptz, NULL::timestamptz, NULL::int, NULL::jsonb;
    END IF;
  END LOOP;
END $$;

CREATE OR REPLACE FUNCTION refuse_order(
  p_item bigint, p_epoch bigint, p_id bigint, p_buyer text, p_attempt int, p_quantity int, p_reserved_ms bigint
) RETURNS SETOF orders LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v        items%ROWTYPE;
  v_now    timestamptz;
  o        orders%ROWTYPE;
  standing bigint;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, ARRAY[p_id], ARRAY[p_buyer]); END IF;
  SELECT * INTO o FROM orders WHERE id = p_id AND item = p_item;
  IF FOUND THEN
    IF o.buyer = p_buyer THEN RETURN NEXT o; END IF;
    RETURN;
  END IF;
  SELECT id INTO standing FROM orders
  WHERE buyer = p_buyer AND item = p_item AND reason IS DISTINCT FROM 'refused' AND (attempt = p_attempt OR state <> 'closed')
  ORDER BY state <> 'closed' DESC LIMIT 1;
  v_now := clock_timestamp();
  INSERT INTO orders (id, item, buyer, attempt, quantity, price_minor, currency, state, reason, superseded_by, epoch,
                      reserved_at, placed_at, closed_at)
  VALUES (p_id, p_item, p_buyer, greatest(p_attempt, 1), greatest(p_quantity, 1), v.price_minor, v.currency, 'closed', 'refused',
          standing, p_epoch, to_timestamp(p_reserved_ms / 1000.0), v_now, v_now)
  RETURNING * INTO o;
  PERFORM note_events('order.closed', ARRAY[p_item], ARRAY[p_id], v_now);
  RETURN NEXT o;
END
$$;

CREATE OR REPLACE FUNCTION close_orders(p_item bigint, p_ids bigint[], p_reason text) RETURNS SETOF orders LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v_now timestamptz;
  o     orders%ROWTYPE;
  back  int := 0;
  v      items%ROWTYPE;
  closed bigint[] := '{}';
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  v_now := clock_timestamp();
  FOR o IN
    UPDATE orders SET state = 'closed', reason = p_reason, closed_at = v_now, version = version + 1
    WHERE item = p_item AND id = ANY (p_ids) AND state = 'pending' AND (p_reason <> 'unpaid' OR pay_by <= v_now)
    RETURNING *
  LOOP
    back := back + o.quantity;
    closed := closed || o.id;
    INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome) VALUES (o.id, o.item, o.buyer, o.attempt, o.quantity, 'closed');
    RETURN NEXT o;
  END LOOP;
  IF back > 0 THEN
    UPDATE items SET available = available + back WHERE id = p_item;
    PERFORM note_events('order.closed', ARRAY[p_item], closed, v_now);
    PERFORM note_stock(p_item, v.sale, v.available, v.available + back, v_now);
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION refund_order(p_order bigint, p_item bigint, p_restock boolean) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v items%ROWTYPE;
  o orders%ROWTYPE;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF v.archive IS NOT NULL THEN PERFORM recall_orders(p_item, ARRAY[p_order], '{}'); END IF;
  SELECT * INTO o FROM orders WHERE id = p_order AND item = p_item FOR UPDATE;
  IF NOT FOUND THEN RETURN 'unknown'; END IF;
  IF o.state = 'closed' AND o.reason = 'refunded' THEN RETURN 'same'; END IF;
  IF o.state <> 'paid' THEN RETURN 'not_paid'; END IF;

  UPDATE orders SET state = 'closed', reason = 'refunded', closed_at = clock_timestamp(), version = version + 1
  WHERE id = p_order AND item = p_item AND state = 'paid';
  IF p_restock THEN
    UPDATE items SET available = available + o.quantity WHERE id = p_item;
    PERFORM note_stock(p_item, v.sale, v.available, v.available + o.quantity, clock_timestamp());
  ELSE
    UPDATE items SET units = units - o.quantity WHERE id = p_item;
  END IF;
  INSERT INTO releases (order_id, item, buyer, attempt, pieces, outcome)
  VALUES (o.id, o.item, o.buyer, o.attempt, CASE WHEN p_restock THEN o.quantity ELSE 0 END, CASE WHEN p_restock THEN 'closed' ELSE 'gone' END);
  UPDATE payments SET state = 'refund_due', why = 'operator', tries = 0, next_try_at = clock_timestamp()
  WHERE order_id = p_order AND state = 'captured';
  PERFORM note_events('order.refunded', ARRAY[p_item], ARRAY[p_order], clock_timestamp());
  RETURN 'refunded';
END
$$;

CREATE OR REPLACE FUNCTION ask_change(p_item bigint, p_delta int, p_reason text, p_by text, p_key text)
RETURNS TABLE (outcome text, no int, taken int, epoch bigint, delta int) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v       items%ROWTYPE;
  c       stock_changes%ROWTYPE;
  v_taken int;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 'no_item'::text, NULL::int, NULL::int, NULL::bigint, NULL::int;
    RETURN;
  END IF;
  IF p_key IS NOT NULL THEN
    SELECT * INTO c FROM stock_changes WHERE key = p_key;
    IF FOUND THEN
      RETURN QUERY SELECT 'same'::text, c.no, c.taken, v.epoch, c.delta;
      RETURN;
    END IF;
  END IF;
  SELECT * INTO c FROM stock_changes WHERE item = p_item AND state <> 'done';
  IF FOUND THEN
    RETURN QUERY SELECT 'pending'::text, c.no, c.taken, v.epoch, c.delta;
    RETURN;
  END IF;
  IF v.door = 'draining' THEN
    RETURN QUERY SELECT 'moving'::text, NULL::int, NULL::int, v.epoch, p_delta;
    RETURN;
  END IF;
  IF v.units::bigint + p_delta > 10000000 THEN
    RETURN QUERY SELECT 'too_many'::text, NULL::int, NULL::int, v.epoch, p_delta;
    RETURN;
  END IF;

  IF v.door = 'gate' AND p_delta < 0 THEN
    INSERT INTO stock_changes (item, no, delta, state, reason, by, key) VALUES (p_item, v.change_no + 1, p_delta, 'asked', p_reason, p_by, p_key);
    RETURN QUERY SELECT 'asked'::text, v.change_no + 1, NULL::int, v.epoch, p_delta;
    RETURN;
  END IF;

  v_taken := greatest(p_delta, -v.available);
  INSERT INTO stock_changes (item, no, delta, taken, state, reason, by, key)
  VALUES (p_item, v.change_no + 1, p_delta, v_taken, CASE v.door WHEN 'gate' THEN 'applied' ELSE 'done' END, p_reason, p_by, p_key);
  UPDATE items SET units = units + v_taken, available = available + v_taken, change_no = change_no + 1 WHERE id = p_item;
  PERFORM note_stock(p_item, v.sale, v.available, v.available + v_taken, clock_timestamp());
  RETURN QUERY SELECT CASE v.door WHEN 'gate' THEN 'applied' ELSE 'done' END, v.change_no + 1, v_taken, v.epoch, p_delta;
END
$$;

CREATE OR REPLACE FUNCTION settle_change(p_item bigint, p_no int, p_epoch bigint, p_taken int) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  v items%ROWTYPE;
  c stock_changes%ROWTYPE;
BEGIN
  SELECT * INTO v FROM items WHERE id = p_item FOR UPDATE;
  SELECT * INTO c FROM stock_changes WHERE item = p_item AND no = p_no;
  IF NOT FOUND OR c.state = 'done' THEN RETURN true; END IF;
  IF c.state = 'asked' THEN
    IF v.door IN ('shut', 'ledger') THEN
      -- No gate has the pieces any more: they are all here.
      p_taken := greatest(c.delta, -v.available);
    ELSIF v.gate_epoch <> p_epoch THEN
      -- A gate built since then has these pieces: what the old one gave up is void.
      RETURN false;
    END IF;
    UPDATE items SET units = units + p_taken, available = available + p_taken, change_no = p_no WHERE id = p_item;
    PERFORM note_stock(p_item, v.sale, v.available, v.available + p_taken, clock_timestamp());
    UPDATE stock_changes SET state = 'done', taken = p_taken WHERE item = p_item AND no = p_no;
  ELSE
    UPDATE stock_changes SET state = 'done' WHERE item = p_item AND no = p_no;
  END IF;
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION mark_reported() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE sales SET reported = NEW.final WHERE id = NEW.sale AND reported <> NEW.final;
  IF NEW.final AND current_setting('stampede.events', true) IS DISTINCT FROM 'off' THEN
    INSERT INTO events (type, sale, data) VALUES ('sale.over', NEW.sale, coalesce(NEW.summary -> 'results', '[]'));
  END IF;
  RETURN NULL;
END
$$;
