// The ABIs that operators added, as previews and policies use them. An attacker with the database could give a function
// another name, which people would read before they agree: so rows that the service did not write count as absent.

import type { Db, HasDb } from '../../../db/client.ts'
import { type AbiBinding, deleteAbi, insertAbi, readAbiItems } from '../../../db/queries/abis.ts'
import type { Network } from '../../../db/words.ts'
import type { AddedAbiItem } from '../../chains/calls.ts'
import type { Chains, HasChains } from '../../chains/chains.ts'
import type { ChainMemory } from '../../chains/facts.ts'
import { provided } from '../../chains/provided.ts'
import { abiItemMac } from '../../identity/auth/row-macs.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity, Sealer } from '../../platform/sealing/sealer.ts'

/** @param input.identity null in a process without IDENTITY_KEY, which explains failures and takes all rows. */
export const createAbiMemory = (input: {
  readonly db: Db
  readonly identity: Pick<Sealer, 'authenticator' | 'verifier'> | null
}): Pick<ChainMemory, 'readAbiItems'> => {
  const { db, identity } = input
  const mac = identity && abiItemMac(identity)
  return {
    readAbiItems: async (asked) => {
      const items = new Map<string, AddedAbiItem & { isGeneral: boolean; readonly addresses: string[] }>()
      for (const row of await readAbiItems(db, asked)) {
        if (mac !== null && !mac.holds(row)) continue
        const key = JSON.stringify([row.selector, row.item])
        const item = items.get(key) ?? { ...row.item, selector: row.selector, isGeneral: false, addresses: [] }
        if (row.address === null) item.isGeneral = true
        else item.addresses.push(row.address)
        items.set(key, item)
      }
      return [...items.values()]
    },
  }
}

const NAME_LENGTH_MAX = 128
/** One line of visible characters. */
const NAME = /^[^\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Z}])?$/u

type AddedAbi = {
  readonly name: string
  readonly binding: AbiBinding
  readonly functions: number
  readonly errors: number
  readonly leftOut: readonly string[]
}

/** The ABI reader, which is the same for all EVM networks. */
export const abiFilesOf = (chains: Pick<Chains, 'known'>) =>
  provided(chains.known.find(({ abiFiles }) => abiFiles !== null)?.abiFiles, 'No network here has contracts with ABIs.')

/**
 * Stores the functions and errors of a JSON ABI. From the next preview on, every process decodes with them.
 * @param input.name by default the contract's name in the artifact, else `fallbackName`
 * @param input.binding the contract with this ABI; null: every contract
 * @throws invalid_input, also if the name is taken.
 */
export const addAbi = async (
  ctx: HasDb & HasAudit & HasChains & HasIdentity,
  input: {
    readonly text: string
    readonly name?: string | undefined
    readonly fallbackName: string
    readonly binding: { readonly network: Network; readonly address: string } | null
    readonly actor: string
  },
): Promise<AddedAbi> => {
  const { items, contractName, leftOut } = abiFilesOf(ctx.chains).parse(input.text)
  const name = input.name ?? contractName ?? input.fallbackName
  if (name.length > NAME_LENGTH_MAX || !NAME.test(name)) {
    throw new AppError('invalid_input', `The name must be one line of 1 to ${NAME_LENGTH_MAX} characters.`)
  }
  const binding = input.binding && {
    ...input.binding,
    address: ctx.chains.of(input.binding.network).parseAddress(input.binding.address, 'address'),
  }
  const { network, address } = binding ?? { network: null, address: null }
  const mac = abiItemMac(ctx.identity)
  const rows = items.map((item) => ({ abiName: name, network, address, ...item }))
  await ctx.db.transaction(async (tx) => {
    if (!(await insertAbi(tx, { name, items: rows.map((row) => ({ ...row, mac: mac.of(row) })) }))) {
      const sentence = `There is already an ABI named "${name}": remove it first, or choose another name.`
      throw new AppError('invalid_input', sentence)
    }
    const details = { network: network ?? '', address: address ?? '', items: String(items.length) }
    const act = { projectId: null, actor: input.actor, action: 'abi_added', subject: name, details } as const
    await ctx.audit.record(tx, act)
  })
  const functions = items.filter(({ kind }) => kind === 'function').length
  return { name, binding, functions, errors: items.length - functions, leftOut }
}

export const removeAbi = async (
  ctx: HasDb & HasAudit,
  input: { readonly name: string; readonly actor: string },
): Promise<void> => {
  const { name, actor } = input
  await ctx.db.transaction(async (tx) => {
    const items = await deleteAbi(tx, name)
    if (items === 0) throw new AppError('not_found', `There is no ABI named "${name}"; "abi list" shows all names.`)
    const details = { items: String(items) }
    await ctx.audit.record(tx, { projectId: null, actor, action: 'abi_removed', subject: name, details })
  })
}
