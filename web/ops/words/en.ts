/** Every text of the operations page in English. Its type is what every other language must provide. */

import type { FunnelStep, SaleState, TroubleCode } from '../shapes.ts'
import { refusals } from './refusals.ts'

export type SaleAction = 'publish' | 'warm' | 'pause' | 'resume' | 'end' | 'delete' | 'reconcile'

interface Asked {
  readonly button: string
  /** The question, with the sale's name. */
  readonly title: (name: string) => string
  /** What will happen. */
  readonly what: string
  /** What has happened. */
  readonly done: (name: string) => string
}

interface Advice {
  readonly title: (which: string, count: string) => string
  readonly advice: string
}

/** Singular or plural; `count` is formatted already, perhaps with a sign. */
const counted = (count: string, one: string, many: string) => `${count} ${/^[+−-]?1$/.test(count) ? one : many}`

export const en = {
  locale: 'en',
  other: '中文',
  otherLabel: '切换到中文',
  skip: 'Skip to content',
  title: 'Operations',
  mainMenu: 'Main',
  sales: 'Sales',
  log: 'Log',
  newSale: 'New sale',
  loading: 'Loading…',
  notFound: 'Page not found',
  notFoundNote: 'The address may be wrong, or the page no longer exists.',
  toSales: 'All sales',
  dismiss: 'Dismiss',
  cancel: 'Not now',
  lost: 'No answer from the server. It may have been done: check the log before you press again.',
  lostSafe: 'No answer from the server. Press again: it will not be done twice.',

  signIn: 'Sign in',
  signInNote:
    'Use the operator token. A server without a configured token made one and printed the path of its file at start.',
  token: 'Operator token',
  signingIn: 'Signing in…',
  signOut: 'Sign out',
  nameAndRole: (name: string, role: string) => `${name} (${role})`,
  signedInAs: (name: string, role: string) => `Signed in as ${name} (${role})`,
  roles: { viewer: 'viewer', operator: 'operator', admin: 'admin' },
  notAllowed: 'Not allowed',
  wrongToken: 'This token is not valid. Check for missing characters; after ten tries you have to wait a minute.',
  tooManyTries: 'Too many tries from this address. Wait a minute and try again.',
  expired: 'Your session has ended. Sign in again.',
  unreachableSignIn: 'The server can’t be reached. Try again in a moment.',
  askingAgain: 'The server does not answer. This page keeps trying…',
  signOutFailed: 'You are still signed in: no answer from the server. Press “Sign out” again.',

  states: {
    draft: 'Draft',
    scheduled: 'Scheduled',
    open: 'Open',
    paused: 'Paused',
    sold_out: 'Sold out',
    over: 'Over',
  } as Readonly<Record<SaleState, string>>,
  running: 'Running',
  comingUp: 'Coming up',
  drafts: 'Drafts',
  past: 'Over',
  noSales: 'No sales yet',
  noSalesNote: 'Create one. It stays a draft, hidden from buyers, until you publish it.',
  state: 'State',
  opens: 'Opens',
  closes: 'Closes',
  itemsCount: (count: string, one: boolean) => (one ? '1 item' : `${count} items`),
  leftOf: (left: string, units: string) => `${left} of ${units} left`,
  opensIn: (span: string) => `opens in ${span}`,
  closesIn: (span: string) => `closes in ${span}`,
  closedAgo: (span: string) => `ended ${span} ago`,
  showMore: (count: string) => `Show all ${count}`,

  looking: 'Checking…',
  allWell: 'All systems normal',
  allWellNote: 'No promise broken, stock agrees, database reachable.',
  whatIsWrong: 'Problems',
  since: (time: string, span: string) => `Since ${time} (${span})`,
  whatToPress: 'What to do',
  openSale: 'Open the sale',
  brokenBanner: 'A promise is broken',
  inconsistentBanner: 'Stock does not agree',
  trouble: {
    promise_broken: {
      title: which => `Promise ${which} is broken`,
      advice:
        'Pause the sale to prevent further damage, then reconcile. If the problem remains, keep the server’s log and investigate.',
    },
    inconsistent: {
      title: () => 'The stock that is sold from and the database do not agree',
      advice:
        'Reconcile: differences are found and repaired. If this happens again, pause the sale and read the reports.',
    },
    ledger_away: {
      title: () => 'The database (PostgreSQL) does not answer',
      advice: 'Nothing is sold and nothing is lost until it answers. Restore the database; the sale resumes by itself.',
    },
    unready: {
      title: () => 'This server is not ready for traffic',
      advice: 'It retries by itself. Check the database, its network and this machine’s clock with “stampede doctor”.',
    },
    clock_skew: {
      title: () => 'This machine’s clock and the database’s differ',
      advice: 'Synchronise both with NTP. The item is not sold until they agree.',
    },
    withdrawn: {
      title: () => 'An item is off sale for a moment: its stock is loaded anew',
      advice: 'It returns by itself. If it does not within a minute, press “Warm now”.',
    },
    door_shut: {
      title: () => 'An item is shut: it can’t be sold',
      advice:
        'It stays shut while Redis is unreachable. Restore Redis with its data: the item is on sale again soon after. If the data is lost, ' +
        'let the database sell it: POST /api/admin/sales/{sale}/items/{item}/door with {"door":"ledger"}. Buyers who were last told “reserved” may then be refused.',
    },
    unsettled: {
      title: (_, count) => `${counted(count, 'reservation waits', 'reservations wait')} for the database`,
      advice: 'They settle by themselves when the database answers. If it answers and they remain, reconcile.',
    },
    provider_silent: {
      title: (which, count) =>
        `Payment provider ${which} does not answer (${counted(count, 'call', 'calls')} in a row)`,
      advice:
        'Buyers can’t start payments there, and refunds wait. What was paid is found when it answers again. Check its status page, the network and the clock; see docs/operating.md.',
    },
    refunds_stuck: {
      title: (_, count) => `${counted(count, 'refund is', 'refunds are')} not going through`,
      advice: 'They are retried every minute. Check the payment provider’s status and the server’s log.',
    },
    refunds_unconfirmed: {
      title: (_, count) => `The shop has not confirmed ${counted(count, 'refund', 'refunds')} for a day`,
      advice:
        'The shop takes the money itself, so only the shop can give it back. Give it back there, and report it at /api/payments/shop/refunds; ' +
        'the order shows the reference. docs/operating.md says how to list them.',
    },
    provider_missing: {
      title: (which, count) =>
        `${counted(count, 'payment is', 'payments are')} open at ${which}, which is not configured`,
      advice:
        'Nobody can ask that provider, so these payments stay open and their sales are not settled. Put it back into PAYMENT_PROVIDERS until none is ' +
        'left, or end them by hand: docs/operating.md says how.',
    },
    alerts_failing: {
      title: which => `Alerts do not arrive (${which})`,
      advice:
        'Check the address and its server; the page “Alerts” sends a test. What could not be told waits for a day.',
    },
    beacon_missing: {
      title: () => 'The draw waits for its beacon, and the line with it',
      advice:
        'The joins are sealed. If the beacon is drand, check that this server reaches the hosts of DRAND_HOSTS. If it is a source of your own, enter its value on the sale’s page (docs/fairness.md).',
    },
    indexes_missing: {
      title: (_, count) =>
        `${counted(count, 'index is', 'indexes are')} missing: lists and audits are slow on a large database`,
      advice:
        'The leader builds them, one by one, while orders are placed. Keep it running; its log says how far it is. docs/operating.md says what may hold it up.',
    },
    unsafe_setting: {
      title: which => `${which} is set for trying or testing`,
      advice: 'Not for a shop with real buyers. Change the setting and restart; docs/operating.md says what it does.',
    },
    token_guessing: {
      title: (_, count) => `Operator tokens are being guessed (${counted(count, 'try', 'tries')} refused)`,
      advice:
        'Too many wrong tokens came from one address; no token is checked there for a minute. Deny the address in the proxy. If it is your own, correct the token that a program sends.',
    },
    limits_differ: {
      title: which => `Servers have different rate limits: ${which}`,
      advice:
        'Give every server the same RATE_ settings. Until then an address or buyer is limited at some of them only.',
    },
    pages_behind: {
      title: which => `Pages of sales are older than they should be: ${which}`,
      advice:
        'Selling goes on; buyers see older pages. Check the folder, bucket, command or purge of the PAGES_ settings.',
    },
    risk_silent: {
      title: () => 'The risk hook does not answer',
      advice:
        'Tickets are given as RISK_ON_FAILURE says until it answers. Check the program at RISK_URL; the server’s log says what it did.',
    },
    alarm: {
      title: (which, count) => `Alarm: ${which} (${count})`,
      advice: 'This should never happen. The server’s log has the details. The alarm stays until the server restarts.',
    },
    unreachable: {
      title: () => 'This page can’t reach the server',
      advice: 'What you see is out of date. Check the network, then the server: curl …/livez.',
    },
  } as Readonly<Record<TroubleCode, Advice>>,

  actions: {
    publish: {
      button: 'Publish',
      title: name => `Publish “${name}”?`,
      what: 'Buyers see it at once. It warms up, opens and closes by itself on schedule. After that, only some settings can be changed.',
      done: name => `“${name}” is published.`,
    },
    warm: {
      button: 'Warm now',
      title: name => `Warm “${name}” now?`,
      what: 'The units are made ready for the rush now instead of shortly before the opening. Buyers can get tickets from now on. The opening time stays.',
      done: name => `“${name}” is warmed up.`,
    },
    pause: {
      button: 'Pause',
      title: name => `Pause “${name}”?`,
      what: 'Buyers can’t order until you resume. Existing orders stay and can be paid.',
      done: name => `“${name}” is paused. Buyers see that it is paused.`,
    },
    resume: {
      button: 'Resume',
      title: name => `Resume “${name}”?`,
      what: 'Buyers can order again at once, within the sale’s window.',
      done: name => `“${name}” has resumed.`,
    },
    end: {
      button: 'End…',
      title: name => `End “${name}” for good?`,
      what: 'Buyers can’t order any more. This can’t be undone. Existing orders can still be paid in time.',
      done: name => `“${name}” has ended.`,
    },
    delete: {
      button: 'Delete…',
      title: name => `Delete the draft “${name}”?`,
      what: 'Buyers have not seen it. It can’t be restored.',
      done: name => `The draft “${name}” is deleted.`,
    },
    reconcile: {
      button: 'Reconcile',
      title: name => `Reconcile “${name}”?`,
      what: 'Stock, orders and payments are compared, and differences are repaired. The sale continues; an item whose stock has to be loaded anew is off sale for a moment.',
      done: name => `“${name}” is reconciled.`,
    },
  } as Readonly<Record<SaleAction, Asked>>,
  confirmEnd: 'End for good',
  confirmDelete: 'Delete',
  working: 'Working…',
  edit: 'Edit',
  orders: 'Orders',
  buyersPage: 'Buyer’s page',

  units: 'Units',
  available: 'Available',
  pending: 'Held, unpaid',
  paid: 'Paid',
  unitsSum: (available: string, pending: string, paid: string, units: string) =>
    `${available} available + ${pending} held + ${paid} paid = ${units}`,
  unitsWrong: (sum: string, units: string) => `adds up to ${sum}, not to ${units}`,
  auditAway: 'The database does not answer: no audit right now.',
  agrees: 'Stock agrees',
  disagrees: 'Stock does not agree',
  door: 'Door',
  doors: { gate: 'gate', draining: 'draining', ledger: 'ledger', shut: 'shut' } as Readonly<Record<string, string>>,
  epoch: 'Epoch',
  queue: 'Queue',
  gateLeft: 'Left at the gate',
  gateHeld: 'Held at the gate',
  unplacedUnits: 'In transit',
  closed: 'Closed orders',
  notAtGate: 'not loaded',
  selling: {
    selling: 'selling',
    ready: 'ready, not selling now',
    withdrawn: 'loaded anew',
    shut: 'shut: not sold',
    skewed: 'clock skew',
    away: 'not loaded',
  } as Readonly<Record<string, string>>,
  here: 'On this server',
  changeStock: 'Change stock',

  funnel: 'Funnel',
  funnelNote: (time: string) => `This sale, over all servers, since ${time}.`,
  steps: {
    asked: 'Order requests',
    limited: 'Rate limited',
    soldOut: 'Sold out',
    refused: 'Other refusals',
    reserved: 'Reserved',
    placed: 'Placed',
    paid: 'Paid',
  } as Readonly<Record<FunnelStep, string>>,
  requests: 'Requests per second',
  latency: 'Latency',
  queueDepth: 'Requests waiting',
  lastMinutes: 'Last five minutes, this server, buyers’ calls only',
  waitingForFigures: 'Waiting for the first figures…',

  reconciliation: 'Reconciliation',
  neverReconciled: 'Has not run for this sale yet. During a sale it runs every 30 seconds.',
  reconciledClean: 'No differences',
  reconciledFound: (differences: string, repairs: string) =>
    `${counted(differences, 'difference', 'differences')}, ${counted(repairs, 'repair', 'repairs')}`,
  keptReports: 'Kept reports',
  finalReport: 'final',

  recentLog: 'Recent actions on this sale',
  noLog: 'Nothing yet.',
  wholeLog: 'The whole log',
  lastDecisions: 'Last decisions of this server',
  when: 'When',
  who: 'Who',
  did: 'Action',
  about: 'Subject',
  details: 'Details',
  saleWord: 'Sale',
  order: 'Order',

  createTitle: 'New sale',
  editTitle: (name: string) => `Edit “${name}”`,
  draftNote: 'It stays a draft until you publish it.',
  create: 'Create draft',
  save: 'Save draft',
  created: (name: string) => `The draft “${name}” is created.`,
  saved: (name: string) => `The draft “${name}” is saved.`,
  saleName: 'Name of the sale',
  nameZh: 'Name for Chinese pages',
  nameEn: 'Name for English pages',
  timeZone: (zone: string) => `Times in ${zone}`,
  opensPast: 'This is past: the sale opens as soon as you publish it.',
  closesPast: 'This is past: the sale would be over at once.',
  warmBefore: 'Warm up before (seconds)',
  ticketsBefore: 'Tickets from (seconds before)',
  challenge: 'Proof of work before the ticket',
  challenges: { off: 'Off', auto: 'On' } as Readonly<Record<string, string>>,
  challengeTimes: (times: string) => `On, ${times} times as hard`,
  paymentProviders: 'Payment providers',
  paymentProvidersHint: 'As in PAYMENT_PROVIDERS, with commas. Empty: all that take the currency.',
  items: 'Items',
  item: (no: string) => `Item ${no}`,
  itemWord: 'Item',
  itemName: 'Name of the item',
  sku: 'SKU',
  image: 'Picture (address)',
  imageUpload: 'Or upload a picture',
  imageKinds:
    'PNG, JPEG, WebP, GIF or AVIF, at most 2 MB. It is kept as it is, with whatever the camera wrote into it.',
  imageUploading: 'The picture is being uploaded…',
  imageUploaded: 'The picture is uploaded; its address is in the field above.',
  imageTooLarge: 'This picture is larger than 2 MB: save it smaller.',
  imageLost: 'It is not known whether the picture arrived. Choose it again: it is kept once.',
  description: 'Description',
  descriptionHint: 'Plain text, shown on the sale’s page; line breaks are kept.',
  imageInsecure: 'Not shown to buyers: only pictures from https addresses are.',
  price: 'Price',
  decimals: (currency: string, digits: string) =>
    digits === '0' ? `${currency} has no decimals` : `${currency} has ${digits} decimals`,
  listPrice: 'Regular price',
  currency: 'Currency',
  unitsOnSale: 'Units on sale',
  quantityMax: 'Most per order',
  attemptsMax: 'Orders per buyer',
  payWithin: 'Time to pay (seconds)',
  optional: 'optional',
  addItem: 'Add an item',
  removeItem: (no: string) => `Remove item ${no}`,
  badName: 'needs a name',
  badNumber: 'must be a whole number',
  badPrice: 'must be an amount like 1999.00',
  badTime: 'must be a date and a time',
  refusals: refusals.en,

  stockTitle: (name: string) => `Change the stock of “${name}”`,
  stockWhat: 'Units are added or removed at once. A decrease removes unsold units only.',
  delta: 'Change in units (−5 removes five)',
  reason: 'Reason, for the log',
  change: 'Change',
  stockDone: (name: string, taken: string) => `“${name}”: ${counted(taken, 'unit', 'units')}.`,
  stockShort: (missing: string) => `${missing} could not be taken: already sold.`,
  stockShortOf: (missing: string, left: string, sold: string, held: string) =>
    `${missing} could not be taken: ${left} ${left === '1' ? 'was' : 'were'} left, ${sold} ${sold === '1' ? 'is' : 'are'} sold${held === '0' ? '' : `, ${held} held unpaid`}.`,
  stockNow: (left: string, sold: string, held: string) => `Now ${left} left, ${sold} sold, ${held} held unpaid.`,

  ordersOf: (name: string) => `Orders of “${name}”`,
  search: 'Buyer or order number',
  find: 'Find',
  anyState: 'Any state',
  orderStates: { reserved: 'Reserved', pending: 'Unpaid', paid: 'Paid', closed: 'Closed' } as Readonly<
    Record<string, string>
  >,
  reasons: {
    unpaid: 'Not paid in time',
    cancelled: 'Cancelled',
    refused: 'Refused',
    refunded: 'Refunded',
  } as Readonly<Record<string, string>>,
  sheet: 'Download for a spreadsheet',
  csv: 'Download CSV',
  csvDone: 'The CSV is downloaded.',
  noOrders: 'No orders here',
  noOrdersNote: 'No order matches your search.',
  buyer: 'Buyer',
  quantity: 'Quantity',
  amount: 'Amount',
  attempt: 'Attempt',
  ordered: 'Ordered',
  payBy: 'Pay by',
  nextPage: 'Next page',
  firstPage: 'First page',
  pageShown: (page: string, count: string) => `Page ${page} · ${counted(count, 'order', 'orders')}`,
  payments: 'Payments',
  noPayments: 'No payment was started.',
  provider: 'Provider',
  reference: 'Reference',
  history: 'History',
  cancelOrder: 'Cancel order…',
  cancelOrderTitle: (id: string) => `Cancel order ${id}?`,
  cancelOrderWhat: 'The order is closed and its units go back on sale. The buyer may order again.',
  cancelOrderConfirm: 'Cancel the order',
  cancelOrderDone: (id: string) => `Order ${id} is cancelled.`,
  refund: 'Refund…',
  refundTitle: (id: string) => `Refund order ${id}?`,
  refundWhat: (amount: string) => `${amount} goes back to the buyer and the order is closed. This can’t be undone.`,
  restock: 'Put the units back on sale',
  refundConfirm: 'Refund',
  refundDone: (id: string) => `Order ${id} is refunded.`,
  backToOrders: 'All orders of this sale',
}

export type Words = typeof en
