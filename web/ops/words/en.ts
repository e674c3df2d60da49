/** Every word of the operations page in English, and by its shape what any other language has to say. */

import type { FunnelStep, SaleState, TroubleCode } from '../shapes.ts'

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

/** English tells one from many; `count` is written already, perhaps with a sign. */
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
  notFound: 'There is nothing here',
  notFoundNote: 'The address may be mistyped, or what was here is gone.',
  toSales: 'All sales',
  dismiss: 'Dismiss',
  cancel: 'Not now',
  lost: 'No answer came. It may have happened all the same: look at the log before you press again.',
  lostSafe: 'No answer came. Press again: it will not be done twice.',

  signIn: 'Sign in',
  signInNote:
    'With the operator token. A server without one configured made its own; it printed where the file is when it started.',
  token: 'Operator token',
  signingIn: 'Signing in…',
  signOut: 'Sign out',
  signedInAs: (name: string) => `Signed in as ${name}`,
  wrongToken: 'This is not an operator token. Check for missing characters; after ten tries you have to wait a minute.',
  tooManyTries: 'Too many tries from this address. Wait a minute and try again.',
  expired: 'Your session has ended. Sign in again to go on.',
  unreachableSignIn: 'The server can’t be reached. Try again in a moment.',
  askingAgain: 'The server does not answer. This page keeps asking…',
  signOutFailed: 'You are still signed in: no answer came. Press “Sign out” again.',

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
  noSalesNote: 'Create one: it stays a draft, seen by nobody, until you publish it.',
  state: 'State',
  opens: 'Opens',
  closes: 'Closes',
  itemsCount: (count: string, one: boolean) => (one ? '1 item' : `${count} items`),
  leftOf: (left: string, units: string) => `${left} of ${units} left`,
  opensIn: (span: string) => `opens in ${span}`,
  closesIn: (span: string) => `closes in ${span}`,
  closedAgo: (span: string) => `ended ${span} ago`,
  showMore: (count: string) => `Show all ${count}`,

  looking: 'Looking for trouble…',
  allWell: 'Nothing is wrong',
  allWellNote: 'Promises kept, books agree, ledger answers.',
  whatIsWrong: 'What is wrong',
  since: (time: string, span: string) => `Since ${time} (${span})`,
  whatToPress: 'What to do',
  openSale: 'Open the sale',
  brokenBanner: 'A promise is broken',
  inconsistentBanner: 'The books do not agree',
  trouble: {
    promise_broken: {
      title: which => `Promise ${which} is broken`,
      advice:
        'Pause the sale so that it gets no worse, then reconcile. What reconciliation can’t mend needs a person: keep the log.',
    },
    inconsistent: {
      title: () => 'Gate and ledger do not agree',
      advice:
        'Reconcile: it compares line by line and repairs. If it comes back, pause the sale and look at the reports.',
    },
    ledger_away: {
      title: () => 'The ledger (PostgreSQL) does not answer',
      advice: 'Nothing is sold and nothing is lost meanwhile. Bring the database back; the sale goes on by itself.',
    },
    unready: {
      title: () => 'This server is not ready for traffic',
      advice:
        'It tries again by itself. Look at the database, its network and this machine’s clock; stampede doctor checks all of them.',
    },
    clock_skew: {
      title: () => 'This machine’s clock and the ledger’s disagree',
      advice: 'Set both by NTP. The item is not sold until they agree.',
    },
    withdrawn: {
      title: () => 'An item is off sale and is being rebuilt',
      advice: 'It comes back by itself. If it does not within a minute, press “Warm now”.',
    },
    door_shut: {
      title: () => 'An item’s door is shut: nobody sells it',
      advice:
        'It does not open by itself while Redis is away. Bring Redis back with its data: the item is on sale again soon after. If that data is lost, ' +
        'let the ledger sell it: POST /api/admin/sales/{sale}/items/{item}/door with {"door":"ledger"}. That may turn what a buyer was told last into a refusal.',
    },
    unsettled: {
      title: (_, count) => `${counted(count, 'reservation waits', 'reservations wait')} for the ledger`,
      advice: 'They settle by themselves when the ledger answers. If it does, reconcile.',
    },
    refunds_stuck: {
      title: (_, count) => `${counted(count, 'refund is', 'refunds are')} not going through`,
      advice: 'They are tried again every minute. Look at the payment provider’s status and the server’s log.',
    },
    alarm: {
      title: (which, count) => `Alarm: ${which} (${count})`,
      advice:
        'This should never happen. The server’s log has the details; it stays here until the server is started again.',
    },
    unreachable: {
      title: () => 'This page can’t reach the server',
      advice: 'What you see is old. Check the network, then the server: curl …/livez.',
    },
  } as Readonly<Record<TroubleCode, Advice>>,

  actions: {
    publish: {
      button: 'Publish',
      title: name => `Publish “${name}”?`,
      what: 'Buyers see it at once. It warms up, opens and closes by itself at its times. Afterwards only what is safe can be changed.',
      done: name => `“${name}” is published.`,
    },
    warm: {
      button: 'Warm now',
      title: name => `Warm “${name}” now?`,
      what: 'The gate takes the units now instead of shortly before the opening. Buyers can get tickets from now on. The opening time stays.',
      done: name => `“${name}” is warm.`,
    },
    pause: {
      button: 'Pause',
      title: name => `Pause “${name}”?`,
      what: 'Nobody can order until you resume. Orders that stand stay, and can be paid.',
      done: name => `“${name}” is paused. Buyers hear that it is paused.`,
    },
    resume: {
      button: 'Resume',
      title: name => `Resume “${name}”?`,
      what: 'Buyers can order again at once, within the sale’s window.',
      done: name => `“${name}” goes on.`,
    },
    end: {
      button: 'End…',
      title: name => `End “${name}” for good?`,
      what: 'Nobody can order any more. This can’t be undone. Orders that stand can still be paid in their time.',
      done: name => `“${name}” has ended.`,
    },
    delete: {
      button: 'Delete…',
      title: name => `Delete the draft “${name}”?`,
      what: 'Nobody has seen it, and it can’t be brought back.',
      done: name => `The draft “${name}” is deleted.`,
    },
    reconcile: {
      button: 'Reconcile',
      title: name => `Reconcile “${name}”?`,
      what: 'Gate, ledger and payments are compared line by line, and what differs is repaired. The sale goes on meanwhile; an item that has to be rebuilt stands still for a moment.',
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
  auditAway: 'The ledger is away: no audit right now.',
  agrees: 'Books agree',
  disagrees: 'Books disagree',
  door: 'Door',
  doors: { gate: 'gate', draining: 'draining', ledger: 'ledger', shut: 'shut' } as Readonly<Record<string, string>>,
  epoch: 'Epoch',
  line: 'In line',
  gateLeft: 'Left at the gate',
  gateHeld: 'Held at the gate',
  unplacedUnits: 'On their way',
  closed: 'Closed orders',
  notAtGate: 'not at the gate',
  selling: {
    selling: 'selling',
    ready: 'ready, not selling now',
    withdrawn: 'being rebuilt',
    shut: 'shut: not sold',
    skewed: 'clock skew',
    away: 'not here',
  } as Readonly<Record<string, string>>,
  here: 'On this server',
  changeStock: 'Change stock',

  funnel: 'Funnel',
  funnelNote: (time: string) =>
    `All sales of this server process, since it started at ${time}. Units above are this sale’s alone.`,
  steps: {
    asked: 'Asked',
    limited: 'Rate limited',
    soldOut: 'Sold out',
    refused: 'Other refusals',
    reserved: 'Reserved',
    placed: 'Placed',
    paid: 'Paid',
  } as Readonly<Record<FunnelStep, string>>,
  requests: 'Requests per second',
  latency: 'Latency',
  queueDepth: 'Line before the gate',
  lastMinutes: 'Last five minutes, this server process, buyers’ calls only',
  waitingForFigures: 'Waiting for the first figures…',

  reconciliation: 'Reconciliation',
  neverReconciled: 'Has not run for this sale yet. While a sale is on, it runs every 30 seconds.',
  reconciledClean: 'No differences',
  reconciledFound: (differences: string, repairs: string) =>
    `${counted(differences, 'difference', 'differences')}, ${counted(repairs, 'repair', 'repairs')}`,
  keptReports: 'Kept reports',
  finalReport: 'final',

  recentLog: 'What was done to this sale',
  noLog: 'Nothing yet.',
  wholeLog: 'The whole log',
  when: 'When',
  who: 'Who',
  did: 'Did',
  about: 'About',
  details: 'Details',
  saleWord: 'Sale',
  order: 'Order',

  createTitle: 'New sale',
  editTitle: (name: string) => `Edit “${name}”`,
  draftNote: 'It stays a draft until you publish it.',
  notDraft: 'Only a draft is edited here.',
  create: 'Create draft',
  save: 'Save draft',
  created: (name: string) => `The draft “${name}” is created.`,
  saved: (name: string) => `The draft “${name}” is saved.`,
  saleName: 'Name of the sale',
  timeZone: (zone: string) => `Times in ${zone}`,
  opensPast: 'This is past: it opens at once when you publish it.',
  closesPast: 'This is past: it would be over at once.',
  warmBefore: 'Warm up before (seconds)',
  items: 'Items',
  item: (no: string) => `Item ${no}`,
  itemWord: 'Item',
  itemName: 'Name of the item',
  sku: 'SKU',
  image: 'Picture (address)',
  imageInsecure: 'Buyers will not see it: browsers are told to show pictures from https addresses only.',
  price: 'Price',
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
  refusals: {
    empty: 'must not be empty',
    tooLong: (most: string) => `must have at most ${most} characters`,
    tooSmall: (least: string) => `must be at least ${least}`,
    tooBig: (most: string) => `must be at most ${most}`,
    tooDear: 'is more than a price may be',
    tooMuch: 'is too many at this price',
    control: 'must not contain control characters',
    currency: 'must be a currency code like CNY',
    otherCurrency: 'must be in the currency of the price',
    address: 'must be an http(s) address or a path',
    notLater: 'must be later than the opening',
    farAway: 'must lie between 1970 and 2200',
    zero: 'must not be 0',
    gone: 'It is not there any more.',
    orderPaid: 'The order is paid.',
    orderNotPaid: 'The order is not paid.',
    orderClosed: 'The order is closed.',
    saleOver: 'The sale is over.',
    tooOften: 'Too many requests. Wait a moment and press again.',
    internal: 'Something went wrong on the server. Its log says more.',
  },

  stockTitle: (name: string) => `Change the stock of “${name}”`,
  stockWhat:
    'Units are put on sale, or taken off, at once. A decrease takes what is still there and tells you what was missing.',
  delta: 'More (or fewer, with a minus)',
  reason: 'Reason, for the log',
  change: 'Change',
  stockDone: (name: string, taken: string) => `“${name}”: ${counted(taken, 'unit', 'units')}.`,
  stockShort: (missing: string) => `${counted(missing, 'unit', 'units')} could not be taken: sold already.`,

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
  csv: 'Download CSV',
  csvDone: 'The CSV is downloaded.',
  noOrders: 'No orders here',
  noOrdersNote: 'None fits what you are looking for.',
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
