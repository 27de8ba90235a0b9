// A runtime as this process knows it: what its metadata says of calls, events, errors, constants and storage. Metadata is
// some hundred kilobytes and takes a tenth of a second to read, so it is kept: in memory for the versions in use, and by the
// memory that outlives the process for all.

import { expandMetadata, Metadata, TypeRegistry } from '@polkadot/types'
import type { Network } from '../../../db/words.ts'
import type { ChainMemory, Hex } from '../chain.ts'
import { type NodeTrouble, NodeUnavailable, question, type Rpc } from '../node/rpc.ts'
import { bytes, MalformedAnswer, record } from '../node/wire.ts'
import { unknownExtensions } from './signedExtensions.ts'

export type RuntimeVersion = {
  readonly specName: string
  readonly specVersion: number
  readonly transactionVersion: number
}

type Expanded = ReturnType<typeof expandMetadata>

/** Its registry makes and reads the runtime's types, and knows its signed extensions. */
export type Runtime = RuntimeVersion & {
  /** Signed extensions that nobody here knows how to sign for. */
  readonly unsupported: readonly string[]
  readonly registry: TypeRegistry
  readonly metadata: Metadata
  /** Calls by pallet and name, in camel case: `calls.balances.transferKeepAlive`. */
  readonly calls: Expanded['tx']
  readonly constants: Expanded['consts']
  /** Storage by pallet and name; each makes its key. */
  readonly storage: Expanded['query']
}

const wholeNumber = (value: unknown): number => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new MalformedAnswer('a whole number')
  return value
}

const parseVersion = (value: unknown): RuntimeVersion => {
  const { specName, specVersion, transactionVersion } = record(value)
  if (typeof specName !== 'string') throw new MalformedAnswer('the name of a runtime')
  return {
    specName,
    specVersion: wholeNumber(specVersion),
    transactionVersion: wholeNumber(transactionVersion),
  }
}

/** As of a block, or of the newest one. */
export const versionQuestion = (blockHash?: Hex) =>
  question('state_getRuntimeVersion', blockHash === undefined ? [] : [blockHash], parseVersion)

/** SCALE's compact length, then so many bytes: what `Metadata_metadata_at_version` puts around metadata, in an Option. */
const unwrapped = (answer: Hex): Hex | null => {
  if (!answer.startsWith('0x01')) return null
  const registry = new TypeRegistry()
  return registry
    .createType('Option<Bytes>', Buffer.from(answer.slice(2), 'hex'))
    .unwrap()
    .toHex()
}

/** The newest form of metadata that we read and nodes of today give; older runtimes have only one. */
const METADATA_VERSION = '0x0f000000'

/** As of a block. @throws NodeUnavailable. */
const askMetadata = async (rpc: Rpc, blockHash: Hex): Promise<Hex> => {
  const [versioned, plain] = await rpc.tryAll(
    [
      question('state_call', ['Metadata_metadata_at_version', METADATA_VERSION, blockHash], bytes),
      question('state_getMetadata', [blockHash], bytes),
    ],
    { size: 'bulk' },
  )
  return (versioned.ok ? unwrapped(versioned.value) : null) ?? rpc.need(plain)
}

/** @param ss58Prefix by which addresses are shown. @throws Error for bytes that are no metadata. */
export const readRuntime = (
  version: RuntimeVersion,
  { metadata: bytesOfMetadata, ss58Prefix }: { readonly metadata: Hex; readonly ss58Prefix: number },
): Runtime => {
  const registry = new TypeRegistry()
  const metadata = new Metadata(registry, bytesOfMetadata)
  // The lookup of types comes with the metadata.
  registry.setLookup(metadata.asLatest.lookup)
  const { extensions, unsupported } = unknownExtensions(registry, metadata)
  registry.setMetadata(metadata, undefined, extensions)
  const properties = registry.createType('ChainProperties', { ss58Format: ss58Prefix }) as unknown
  registry.setChainProperties(properties as Parameters<TypeRegistry['setChainProperties']>[0])
  const { tx: calls, consts: constants, query: storage } = expandMetadata(registry, metadata)
  // The codec also takes what says nothing, and no bytes at all, for metadata.
  if (calls.system === undefined) throw new Error('metadata without a System')
  return { ...version, unsupported, registry, metadata, calls, constants, storage }
}

/** How many versions are kept in memory: around an upgrade two are in use, and one more while old blocks are read. */
const KEPT_MAX = 3

export type Runtimes = {
  /** Of a version that the node was heard to have as of a block. @throws NodeUnavailable. */
  of(version: RuntimeVersion, blockHash: Hex): Promise<Runtime>
  /** As of a block: one question where the version is known. @throws NodeUnavailable. */
  at(blockHash: Hex): Promise<Runtime>
  /** One that is in memory, as whoever was handed one may take it to be. @throws Error where it is not. */
  loaded(specVersion: number): Runtime
}

export const createRuntimes = (input: {
  readonly rpc: Rpc
  readonly network: Network
  readonly ss58Prefix: number
  readonly memory: Pick<ChainMemory, 'readMetadata' | 'writeMetadata'>
  /** Hears of metadata that cannot be read. */
  readonly onTrouble?: (trouble: NodeTrouble) => void
}): Runtimes => {
  const { rpc, network, ss58Prefix, memory, onTrouble = () => {} } = input
  /** By specVersion, the one used last at the end. */
  const kept = new Map<number, Promise<Runtime>>()
  const ready = new Map<number, Runtime>()

  const readOrRefuse = (version: RuntimeVersion, metadata: Hex): Runtime => {
    try {
      return readRuntime(version, { metadata, ss58Prefix })
    } catch (error) {
      onTrouble('unreadable')
      const sentence = `The metadata of runtime ${version.specVersion} of ${network} cannot be read.`
      throw new NodeUnavailable('unreadable', sentence, error)
    }
  }

  const read = async (version: RuntimeVersion, blockHash: Hex): Promise<Runtime> => {
    const { specName, specVersion } = version
    const known = await memory.readMetadata({ network, specName, specVersion })
    const metadata = known ?? (await askMetadata(rpc, blockHash))
    const runtime = readOrRefuse(version, metadata)
    // Only what could be read is kept.
    if (known === null) await memory.writeMetadata({ network, specName, specVersion, metadata })
    return runtime
  }

  const of: Runtimes['of'] = (version, blockHash) => {
    const { specVersion } = version
    const runtime = kept.get(specVersion) ?? read(version, blockHash)
    kept.delete(specVersion)
    kept.set(specVersion, runtime)
    runtime.then(
      (loaded) => kept.has(specVersion) && ready.set(specVersion, loaded),
      () => kept.delete(specVersion),
    )
    for (const oldest of [...kept.keys()].slice(0, -KEPT_MAX)) {
      kept.delete(oldest)
      ready.delete(oldest)
    }
    return runtime
  }

  const loaded: Runtimes['loaded'] = (specVersion) => {
    const runtime = ready.get(specVersion)
    if (runtime === undefined) throw new Error(`runtime ${specVersion} of ${network} is not in memory`)
    return runtime
  }

  return { of, loaded, at: async (blockHash) => of(await rpc.ask(versionQuestion(blockHash)), blockHash) }
}
