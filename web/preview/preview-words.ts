/** The texts around a preview, in the languages of the buyer's page. */

import { words } from '../buyer/words.ts'

const en = {
  title: 'Preview',
  note: 'Only operators see this. Nothing can be bought here.',
  shownAs: 'Shown as:',
  as: { before: 'before the opening', open: 'open', soldOut: 'sold out', over: 'over' },
  back: 'Back to the sale',
  signIn: 'Sign in on the operations page first, then reload this one.',
  gone: 'There is no such sale.',
  lost: 'The server does not answer. Reload the page in a moment.',
  loading: 'Loading…',
}

const zh: typeof en = {
  title: '预览',
  note: '仅运营人员可见，此处无法购买。',
  shownAs: '显示为：',
  as: { before: '开抢前', open: '进行中', soldOut: '已抢光', over: '已结束' },
  back: '返回场次',
  signIn: '请先在运营页面登录，然后刷新此页。',
  gone: '没有这个场次。',
  lost: '服务器没有响应，请稍后刷新。',
  loading: '加载中…',
}

export function previewWords(): typeof en {
  return words().locale === 'en' ? en : zh
}
