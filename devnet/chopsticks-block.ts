import {
  Block,
  type BuildBlockParams,
  getAuraSlotDuration,
  getRuntimeVersion,
  inherentProviders,
  newHeader,
} from '@acala-network/chopsticks-core'
import { TypeRegistry } from '@polkadot/types'
import type { Header, RuntimeVersion } from '@polkadot/types/interfaces'
import { u8aConcat, u8aToHex } from '@polkadot/util'
import { blake2AsHex } from '@polkadot/util-crypto'
import { callRuntime } from './runtime.ts'
import { type Changes, createChanges, type Hex, type State } from './runtime-changes.ts'

/** The hash of a block that is not yet built. */
const NO_HASH: Hex = `0x${'00'.repeat(32)}`
/** The first byte of an ApplyExtrinsicResult whose extrinsic is in the block, even if its call failed. */
const APPLIED = 0

/** What a runtime answers by its code alone. */
const constantOf = (code: Hex, name: string): Buffer =>
  callRuntime({ code, name, input: new Uint8Array(), changes: createChanges({ get: () => null, nextKey: () => null }) })

const versionOf = (code: Hex) => {
  const version = new TypeRegistry().createType<RuntimeVersion>('RuntimeVersion', constantOf(code, 'Core_version'))
  return { ...version.toJSON(), specName: version.specName.toString(), implName: version.implName.toString() }
}

/** A memory that is asked before chopsticks asks its own executor, and has each answer. */
const memoryOf = <Answer>(answer: (code: Hex) => Answer) =>
  Object.assign(new Map(), { has: () => true, get: async (code: Hex) => answer(code) })

// Otherwise each process would read the whole code in that executor too, which takes a second of a large runtime.
getRuntimeVersion.cache = memoryOf(versionOf)
getAuraSlotDuration.cache = memoryOf((code) => Number(constantOf(code, 'AuraApi_slot_duration').readBigUInt64LE()))

/**
 * Calls the runtime of a block by `callRuntime`, in place of chopsticks' own way. @param state the block's, once it is
 * stored
 */
export const withRuntime = (block: Block, state: State): Block => {
  const call: Block['call'] = async (name, args) => {
    const changes = createChanges(state)
    const result = callRuntime({ code: await block.wasm, name, input: u8aConcat(...args), changes })
    return {
      result: u8aToHex(result),
      storageDiff: changes.all() as [Hex, Hex | null][],
      offchainStorageDiff: [],
      runtimeLogs: [],
    }
  }
  return Object.assign(block, { call })
}

/** What an extrinsic changes; null if the runtime refuses it, or panics. */
const changesBy = (before: State, apply: (changes: Changes) => Buffer): Changes | null => {
  const changes = createChanges(before)
  try {
    return apply(changes)[0] === APPLIED ? changes : null
  } catch (error) {
    console.error('An extrinsic is left out:', error)
    return null
  }
}

/**
 * Builds a block on a parent, without the extrinsics that the runtime refuses.
 * @param changes on the state of the parent
 */
export const buildBlock = async (
  parent: Block,
  input: { params: BuildBlockParams; changes: Changes },
): Promise<Block> => {
  const { chain, storage } = parent
  const { params, changes } = input
  const header = await newHeader(parent)
  const draft = new Block(chain, parent.number + 1, NO_HASH, parent, { header, extrinsics: [], storage })
  const extrinsics: Hex[] = []
  for (const provider of inherentProviders) extrinsics.push(...(await provider.createInherents(draft, params)))

  const code = await draft.wasm
  const run = (name: string, bytes: Hex, on = changes) =>
    callRuntime({ code, name, input: u8aConcat(bytes), changes: on })
  run('Core_initialize_block', header.toHex())
  for (const each of extrinsics) run('BlockBuilder_apply_extrinsic', each)
  for (const each of params.transactions) {
    const made = changesBy(changes, (on) => run('BlockBuilder_apply_extrinsic', each, on))
    if (made === null) continue
    changes.setAll(made.all())
    extrinsics.push(each)
  }
  run('BlockBuilder_finalize_block', '0x')

  // As chopsticks does: not the trie's root.
  const extrinsicsRoot = blake2AsHex(u8aConcat(...extrinsics), 256)
  const sealed = (await parent.registry).createType<Header>('Header', { ...header.toJSON(), extrinsicsRoot })
  return new Block(chain, draft.number, u8aToHex(sealed.hash), parent, {
    header: sealed,
    extrinsics,
    storage,
    storageDiff: Object.fromEntries(changes.all()),
  })
}
