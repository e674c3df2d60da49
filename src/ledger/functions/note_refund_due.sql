-- note_refund_due: a trigger on payments: money that has to go back leaves an event.
-- In      the row as it is now; called when its state becomes refund_due
-- Out     nothing: the row was written
-- Keeps   the event is of the same transaction, whichever statement of whichever version of Stampede decides it. Its amount is what parts
--         that went back before have left
-- Locks   nothing

CREATE OR REPLACE FUNCTION note_refund_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('stampede.events', true) = 'off' THEN RETURN NULL; END IF;
  INSERT INTO events (type, items, orders, data)
  VALUES ('payment.refund_due', ARRAY[NEW.item], ARRAY[NEW.order_id], jsonb_build_object('id', NEW.id::text, 'provider', NEW.provider,
          'ref', NEW.ref, 'currency', NEW.currency, 'why', NEW.why,
          'amount', NEW.amount_minor - (SELECT coalesce(sum(r.amount_minor), 0) FROM refund_parts r WHERE r.payment = NEW.id)));
  RETURN NULL;
END
$$;
