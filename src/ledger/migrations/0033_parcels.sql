-- parcels: what a parcel needs beside its order: the buyer's contact, and metadata of the shop's page.
-- In      nothing
-- Out     parcels
-- Keeps   no order depends on a row of it: it is written after the order, or after the reservation, and is never in the way of either. A row whose
--         order is not in the ledger yet has look_at: then it is looked for. Processes of the version before neither write nor read it

-- email_key, phone_key, name_key: what operators find an order by.
CREATE TABLE parcels (
  order_id   bigint PRIMARY KEY,
  item       bigint NOT NULL,
  metadata   jsonb CHECK (jsonb_typeof(metadata) = 'object'),
  contact    jsonb CHECK (jsonb_typeof(contact) = 'object'),
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  look_at    timestamptz,
  email_key  text GENERATED ALWAYS AS (lower(contact ->> 'email')) STORED,
  phone_key  text GENERATED ALWAYS AS (regexp_replace(contact ->> 'phone', '[^0-9]', '', 'g')) STORED,
  name_key   text GENERATED ALWAYS AS (lower(contact ->> 'name')) STORED
);
CREATE INDEX parcels_email ON parcels (email_key, order_id) WHERE email_key IS NOT NULL;
CREATE INDEX parcels_phone ON parcels (phone_key, order_id) WHERE phone_key IS NOT NULL;
CREATE INDEX parcels_name ON parcels (name_key, order_id) WHERE name_key IS NOT NULL;
CREATE INDEX parcels_look ON parcels (look_at) WHERE look_at IS NOT NULL;
