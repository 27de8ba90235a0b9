import type { HasDb } from '../../../db/client.ts'
import { type AbiBinding, deleteAbi, insertAbi } from '../../../db/queries/abis.ts'
import type { Network } from '../../../db/words.ts'
import type { Chains, HasChains } from '../../chains/chains.ts'
import { provided } from '../../chains/provided.ts'
import { abiItemMac } from '../../identity/auth/row-macs.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'

const NAME_LENGTH_MAX = 128
/** One line of visible characters. */
const NAME = /^[^\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]*[^\p{C}\p{Z}])?$/u

type AddedAbi = {
  readonly name: string
  readonly binding: AbiBinding
  readonly functions: number
  readonly errors: number
  /** The names of functions and errors that were left out. */
  readonly leftOut: readonly string[]
}

/** The ABI reader, which is the same for all EVM networks. */
export const abiFilesOf = (chains: Pick<Chains, 'known'>) =>
  provided(chains.known.find(({ abiFiles }) => abiFiles !== null)?.abiFiles, 'No network here has contracts with ABIs.')

/**
 * Stores the functions and errors of a JSON ABI. From the next preview on, every process decodes with them.
 * @param input.text the file's content
 * @param input.name the ABI's name; by default the contract's name in the artifact, else `fallbackName`
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
  const added = await ctx.db.transaction(async (tx) => {
    if (!(await insertAbi(tx, { name, items: rows.map((row) => ({ ...row, mac: mac.of(row) })) }))) return false
    const details = { network: network ?? '', address: address ?? '', items: String(items.length) }
    const act = { projectId: null, actor: input.actor, action: 'abi_added', subject: name, details } as const
    await ctx.audit.record(tx, act)
    return true
  })
  if (!added) {
    throw new AppError(
      'invalid_input',
      `There is already an ABI named "${name}": remove it first, or choose another name.`,
    )
  }
  const functions = items.filter(({ kind }) => kind === 'function').length
  return { name, binding, functions, errors: items.length - functions, leftOut }
}

/** Removes an added ABI; later previews no longer use it. */
export const removeAbi = async (
  ctx: HasDb & HasAudit,
  input: { readonly name: string; readonly actor: string },
): Promise<void> => {
  const { name, actor } = input
  const wasThere = await ctx.db.transaction(async (tx) => {
    const items = await deleteAbi(tx, name)
    if (items === 0) return false
    const details = { items: String(items) }
    await ctx.audit.record(tx, { projectId: null, actor, action: 'abi_removed', subject: name, details })
    return true
  })
  if (!wasThere) throw new AppError('not_found', `There is no ABI named "${name}"; "abi list" shows all names.`)
}
