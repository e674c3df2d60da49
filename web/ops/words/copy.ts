/** Every text about copies and templates of sales, in both languages. */

import { words } from '../words.ts'

const en = {
  copy: 'Copy…',
  copyTitle: (name: string) => `Copy “${name}”`,
  copyWhat:
    'A new draft with the same items and settings. It lasts as long as this sale; you can change everything before you publish it.',
  copyConfirm: 'Make the draft',
  copied: (name: string) => `The draft “${name}” is made.`,
  keep: 'Save as template…',
  keepTitle: (name: string) => `Keep “${name}” as a template?`,
  keepWhat: 'A copy is kept under “Templates”: new sales are made from it. It is never published itself.',
  keepConfirm: 'Save the template',
  kept: (name: string) => `The template “${name}” is saved.`,
  fromTemplate: 'New sale from it…',
  preview: 'Preview',
  template: 'Template',
  templates: 'Templates',
}

type CopyWords = typeof en

const zh: CopyWords = {
  copy: '复制…',
  copyTitle: name => `复制“${name}”`,
  copyWhat: '以相同的商品和设置新建草稿，时长与本场相同；发布前均可修改。',
  copyConfirm: '新建草稿',
  copied: name => `草稿“${name}”已创建。`,
  keep: '存为模板…',
  keepTitle: name => `将“${name}”存为模板？`,
  keepWhat: '副本保存在“模板”下，可用来新建场次；模板本身不会发布。',
  keepConfirm: '保存模板',
  kept: name => `模板“${name}”已保存。`,
  fromTemplate: '用它新建场次…',
  preview: '预览',
  template: '模板',
  templates: '模板',
}

export function copyWords(): CopyWords {
  return words().locale === 'en' ? en : zh
}
