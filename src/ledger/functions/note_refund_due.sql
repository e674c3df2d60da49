-- note_refund_due: a trigger on payments: money that has to go back leaves an event.
-- In      the row as it is now; called when its state becomes refund_due
-- Out     nothing: the row was written
-- Keeps   the event is of the same transaction, whichever statement of whichever version of Stampede decides it
-- Locks   nothing

CREATE OR REPLACE FUNCTION note_refund_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('stampede.events', true) = 'off' THEN RETURN NULL; END IF;
  INSERT INTO events (type, items, orders, data)
  VALUES ('payment.refund_due', ARRAY[NEW.item], ARRAY[NEW.order_id], jsonb_build_object('id', NEW.id::text, 'provider', NEW.provider,
          'ref', NEW.ref, 'amount', NEW.amount_minor, 'currency', NEW.currency, 'why', NEW.why));
  RETURN NULL;
END
$$;
