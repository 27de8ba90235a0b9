// Contracts, tokens and NFTs.

import { sql } from 'drizzle-orm'
import { bigint, check, index, integer, jsonb, pgTable, primaryKey, smallint, text, unique } from 'drizzle-orm/pg-core'
import { access, bytes, instant, now, oneOf, uint256 } from '../tables.ts'
import { ABI_ITEM_KINDS, ASSET_STANDARDS, IMAGE_KINDS } from '../words.ts'
import { networkName, networks } from './networks.ts'
import { projectId } from './projects.ts'
import { transactionId } from './transactions.ts'

export type AbiInput = { readonly name: string; readonly type: string; readonly components?: readonly AbiInput[] }
type AbiItem = { readonly name: string; readonly inputs: readonly AbiInput[] }

/** What operators added with `abi add`: one row for each function or error, one name for each file. */
export const abiItems = pgTable(
  'abi_items',
  {
    id: bigint('id', { mode: 'bigint' }).primaryKey().generatedAlwaysAsIdentity(),
    abiName: text('abi_name').notNull(),
    /** Both null if it is for every contract of every network. */
    network: text('network').references(() => networks.name),
    address: text('address'),
    kind: text('kind', { enum: ABI_ITEM_KINDS }).notNull(),
    /** `0x` and four bytes. */
    selector: text('selector').notNull(),
    /** `transfer(address,uint256)`. */
    signature: text('signature').notNull(),
    /** `{ name, inputs }`, as in a JSON ABI. */
    item: jsonb('item').$type<AbiItem>().notNull(),
    createdAt: instant('created_at').notNull().default(now),
    /** The row's MAC, by src/identity/auth/row-macs.ts. */
    mac: bytes('mac').notNull(),
  },
  (table) => [
    unique('abi_items_once').on(table.abiName, table.kind, table.signature),
    index('abi_items_selector').on(table.selector, table.kind),
    check('abi_items_kind', oneOf('kind', ABI_ITEM_KINDS)),
    check('abi_items_bound', sql`(${table.network} is null) = (${table.address} is null)`),
    check('abi_items_selector_form', sql`${table.selector} ~ '^0x[0-9a-f]{8}$'`),
  ],
)

export const abiItemsAccess = access(abiItems, { api: 'select, insert, delete', worker: 'select' })

/** How tokens are shown, as operators imported it with `tokens import`. All other facts come from the contract. */
export const listedTokens = pgTable(
  'listed_tokens',
  {
    network: networkName(),
    /** Canonical, as `parseAddress` returns it. */
    address: text('address').notNull(),
    listName: text('list_name').notNull(),
    name: text('name').notNull(),
    symbol: text('symbol').notNull(),
    /** Empty if the list has none. */
    logoUrl: text('logo_url').notNull(),
    /** null if the list does not say. */
    displayDecimals: smallint('display_decimals'),
    importedAt: instant('imported_at').notNull().default(now),
    /** The row's MAC, by src/identity/auth/row-macs.ts. */
    mac: bytes('mac').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.address] }),
    index('listed_tokens_list').on(table.listName),
    check('listed_tokens_display_decimals', sql`display_decimals between 0 and 255`),
  ],
)

export const listedTokensAccess = access(listedTokens, { api: 'select, insert, delete', worker: 'select' })

/** What a contract says about itself, read once. */
export const contractFacts = pgTable(
  'contract_facts',
  {
    network: networkName(),
    address: text('address').notNull(),
    standard: text('standard', { enum: ASSET_STANDARDS }).notNull(),
    name: text('name').notNull(),
    symbol: text('symbol').notNull(),
    /** null if it does not say. */
    decimals: smallint('decimals'),
    readAt: instant('read_at').notNull().default(now),
    /** By src/identity/auth/row-macs.ts; null if a worker wrote the row. No signature relies on facts without it. */
    mac: bytes('mac'),
  },
  (table) => [
    primaryKey({ columns: [table.network, table.address] }),
    check('contract_facts_standard', oneOf('standard', ASSET_STANDARDS)),
  ],
)

export const contractFactsAccess = access(contractFacts, {
  api: 'select, insert, update',
  worker: 'select, insert, update',
})

export const tokenUris = pgTable(
  'token_uris',
  {
    network: networkName(),
    contract: text('contract').notNull(),
    tokenId: uint256('token_id').notNull(),
    uri: text('uri').notNull(),
    readAt: instant('read_at').notNull().default(now),
  },
  (table) => [primaryKey({ columns: [table.network, table.contract, table.tokenId] })],
)

export const tokenUrisAccess = access(tokenUris, { api: 'select, insert, update', worker: 'select, insert, update' })

/** Collections that were created here; the address is their transaction's `contract_address`. */
export const collections = pgTable(
  'collections',
  {
    transactionId: transactionId().primaryKey(),
    projectId: projectId(),
    network: networkName(),
    ownerAddress: text('owner_address').notNull(),
    name: text('name').notNull(),
    symbol: text('symbol').notNull(),
    imageUrl: text('image_url').notNull(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    index('collections_listed').on(
      table.projectId,
      table.network,
      table.ownerAddress,
      table.createdAt,
      table.transactionId,
    ),
  ],
)

export const collectionsAccess = access(collections, { api: 'select, insert, update', worker: 'select' })

/** Tokens that were created here. The contract is the transaction's `contract_address`, the name is on the chain. */
export const createdTokens = pgTable('created_tokens', {
  transactionId: transactionId().primaryKey(),
  projectId: projectId(),
  /** Empty if it has none. Only the project itself sees it, as any project can choose another token's logo. */
  logoUrl: text('logo_url').notNull(),
})

export const createdTokensAccess = access(createdTokens, { api: 'select, insert', worker: 'select' })

/** Uploaded images, addressed by the SHA-256 of their bytes. */
export const hostedImages = pgTable(
  'hosted_images',
  {
    digest: text('digest').primaryKey(),
    kind: text('kind', { enum: IMAGE_KINDS }).notNull(),
    body: bytes('body').notNull(),
    sizeBytes: integer('size_bytes').notNull(),
    /** Who uploaded it first. */
    projectId: projectId(),
    createdAt: instant('created_at').notNull().default(now),
  },
  (table) => [
    index('hosted_images_uploaded').on(table.projectId, table.createdAt),
    check('hosted_images_kind', oneOf('kind', IMAGE_KINDS)),
  ],
)

export const hostedImagesAccess = access(hostedImages, { api: 'select, insert' })

/** Hosted EIP-721 metadata, addressed by the SHA-256 of its text. */
export const metadataDocuments = pgTable('metadata_documents', {
  digest: text('digest').primaryKey(),
  body: text('body').notNull(),
  createdAt: instant('created_at').notNull().default(now),
})

export const metadataDocumentsAccess = access(metadataDocuments, { api: 'select, insert, update', worker: 'select' })
