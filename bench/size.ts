// What questions cost in a database as years of use leave it (size-rows.ts), beside one of a hundredth of it: over
// HTTP, and for operators by the views and queries of the command line.

import { holdingsOfAddress, listMovements } from '../db/queries/movements.ts'
import { findTransactionOverview, listActs, listTransactions } from '../db/queries/overview.ts'
import { TRANSACTION_STATUSES } from '../db/words.ts'
import type { Service } from '../test/support/service.ts'
import { authenticateWallets } from '../test/support/wallet-macs.ts'
import { type Figures, measure } from './activity.ts'
import { BIG, makeSizeRows, type SizeRows, type Sizes } from './size-rows.ts'

const SMALL_SHARE = 0.01
const PAGE_SIZE = 100
const VIEW_ROWS = 50
/** Pages of activity and of NFTs have numbers no further down. */
const NUMBERED = { activity: 10_000, nfts: 2_000 }

type Asked = {
  readonly service: Service
  readonly made: SizeRows
  readonly transactionId: string
  readonly quietWallet: { readonly id: string; readonly address: string; readonly owner_id: string }
  /** Half down the large wallet's lists: the last items of the page before. */
  readonly activityBefore: string
  readonly nftAfter: string
  /** Half down these lists, or the last page that has a number. */
  readonly deepActivity: string
  readonly deepNfts: string
}

export type SizeBench = {
  readonly seconds: number
  readonly sizes: Sizes
  readonly costs: readonly { readonly what: string; readonly few: Figures; readonly many: Figures }[]
}

const get = async (service: Service, path: string, query: Record<string, string>) => {
  const answer = await service.get(path, query)
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${answer.text}`)
  if (Array.isArray(answer.json) && answer.json.length === 0) {
    throw new Error(`${path} with ${JSON.stringify(query)} was answered without an item`)
  }
  return answer.json
}

const onEthereum = ({ service }: Pick<Asked, 'service'>, path: string, query: Record<string, string>) =>
  get(service, path, { network: 'Ethereum', ...query })

const pageOf = (items: number) => String(Math.max(1, Math.ceil(items / PAGE_SIZE)))

const fill = async (service: Service, sizes: Sizes): Promise<Asked> => {
  const { db } = service.ctx
  const { url } = service.database
  const made = await makeSizeRows({ url, sizes })
  await authenticateWallets({ url, identity: service.ctx.identity })
  // The large wallet has a tenth of all movements, and of those a tenth are NFTs that are still there.
  const half = { activity: sizes.movements * 0.05, nfts: sizes.movements * 0.005 }
  const of = { network: 'Ethereum', address: made.largeWallet, limit: 1 } as const
  const [movement] = await listMovements(db, { ...of, before: null, offset: half.activity })
  const [nft] = await holdingsOfAddress(db, { ...of, after: null, offset: half.nfts })
  const [newest] = await listTransactions(db, { statuses: ['pending'], limit: 1 })
  const listed = await onEthereum({ service }, '/wallets', { page: '2', page_size: '1' })
  return {
    service,
    made,
    transactionId: newest?.id ?? '',
    quietWallet: listed[0],
    activityBefore: movement?.id ?? '',
    nftAfter: `${nft?.contract}:${nft?.tokenId}:${nft?.address}`,
    deepActivity: pageOf(Math.min(half.activity, NUMBERED.activity)),
    deepNfts: pageOf(Math.min(half.nfts, NUMBERED.nfts)),
  }
}

type Question = { readonly what: string; readonly ask: (asked: Asked) => Promise<unknown> }

const lists: readonly Question[] = [
  ['wallets, page 1', '/wallets', () => ({})],
  ['wallets, the middle page', '/wallets', ({ made }: Asked) => ({ page: pageOf(made.listedWallets / 2) })],
  ['wallets, the last page', '/wallets', ({ made }: Asked) => ({ page: pageOf(made.listedWallets) })],
  ['activity, page 1', '/activity', ({ made }: Asked) => ({ wallet_address: made.largeWallet })],
  [
    'activity, half down, by `before`',
    '/activity',
    ({ made, activityBefore }: Asked) => ({ wallet_address: made.largeWallet, before: activityBefore }),
  ],
  [
    'activity, deep down, by `page`',
    '/activity',
    ({ made, deepActivity }: Asked) => ({ wallet_address: made.largeWallet, page: deepActivity }),
  ],
  ['NFTs of a wallet, page 1', '/nfts', ({ made }: Asked) => ({ wallet_address: made.largeWallet })],
  [
    'NFTs of a wallet, half down, by `after`',
    '/nfts',
    ({ made, nftAfter }: Asked) => ({ wallet_address: made.largeWallet, after: nftAfter }),
  ],
  [
    'NFTs of a wallet, deep down, by `page`',
    '/nfts',
    ({ made, deepNfts }: Asked) => ({ wallet_address: made.largeWallet, page: deepNfts }),
  ],
  ['NFTs of a collection, page 1', '/nfts', ({ made }: Asked) => ({ contract_address: made.keptCollection })],
  [
    'NFTs of a collection that strangers hold',
    '/nfts',
    ({ made }: Asked) => ({ contract_address: made.strangersCollection }),
  ],
  [
    'NFTs of a collection that was given away',
    '/nfts',
    ({ made }: Asked) => ({ contract_address: made.givenAwayCollection }),
  ],
  ['NFTs of a wallet that gave them away', '/nfts', ({ made }: Asked) => ({ wallet_address: made.givingWallet })],
].map(([what, path, queryOf]) => ({
  what: what as string,
  ask: (asked) =>
    onEthereum(asked, path as string, {
      page_size: String(PAGE_SIZE),
      ...(queryOf as (of: Asked) => Record<string, string>)(asked),
    }),
}))

const lookUps: readonly Question[] = [
  { what: 'a wallet by id', ask: (asked) => onEthereum(asked, '/wallets/get-by-id', { id: asked.quietWallet.id }) },
  {
    what: 'a wallet by address',
    ask: (asked) => onEthereum(asked, '/wallets/get-by-address', { address: asked.quietWallet.address }),
  },
  {
    what: 'a wallet by owner',
    ask: (asked) => onEthereum(asked, '/wallets/get-by-owner-id', { ownerID: asked.quietWallet.owner_id }),
  },
  {
    what: "a transaction's status",
    ask: ({ service, transactionId }) => get(service, '/transactions/status-by-id', { id: transactionId }),
  },
]

const operators: readonly Question[] = [
  {
    what: 'the view of transactions, the newest 50',
    ask: ({ service }) =>
      service.ctx.db.execute(`select * from strongroom_views.transactions order by created_at desc limit ${VIEW_ROWS}`),
  },
  {
    what: 'the view of transactions, one',
    ask: ({ service, transactionId }) => findTransactionOverview(service.ctx.db, { id: transactionId }),
  },
  {
    what: "`cli tx show`'s audit rows",
    ask: ({ service, transactionId }) => listActs(service.ctx.db, transactionId),
  },
  {
    what: '`cli tx list`',
    ask: ({ service }) => listTransactions(service.ctx.db, { statuses: TRANSACTION_STATUSES, limit: VIEW_ROWS }),
  },
]

export const benchSize = async (input: { readonly start: () => Promise<Service> }): Promise<SizeBench> => {
  const small = Object.fromEntries(Object.entries(BIG).map(([rows, count]) => [rows, count * SMALL_SHARE])) as Sizes
  const services = { few: await input.start(), many: await input.start() }
  try {
    const tables = { few: await fill(services.few, small), many: await fill(services.many, BIG) }
    const costs = []
    for (const question of [...lists, ...lookUps, ...operators]) costs.push(await measure(question, tables))
    return { seconds: tables.many.made.seconds, sizes: BIG, costs }
  } finally {
    await services.few.close()
    await services.many.close()
  }
}

export const sizeTable = ({ seconds, sizes, costs }: SizeBench): readonly string[] => {
  const figure = (ms: number) => ms.toFixed(2).padStart(12)
  const { wallets, movements, attempts, auditRows } = sizes
  return [
    `\nAt size: ${wallets} wallets, ${movements} movements, ${attempts} attempts, ${auditRows} audit rows, made in ${seconds.toFixed(0)} s, and a hundredth of it`,
    `  ${''.padEnd(44)}${'small p50 ms'.padStart(12)}${'big p50 ms'.padStart(12)}${'ratio'.padStart(8)}   (aim: 2)`,
    ...costs.map(
      ({ what, few, many }) =>
        `  ${what.padEnd(44)}${figure(few.p50Ms)}${figure(many.p50Ms)}${(many.p50Ms / few.p50Ms).toFixed(2).padStart(8)}`,
    ),
  ]
}
