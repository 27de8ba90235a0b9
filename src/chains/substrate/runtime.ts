// Reads the metadata of runtimes. It is some hundred kilobytes and takes a tenth of a second to parse, so each process
// caches the versions in use. Each process asks its own node, so that no other process can give it false metadata. The
// node's metadata is enough to read the chain; trust.ts decides whether it is enough to sign.

import { expandMetadata, Metadata, TypeRegistry } from '@polkadot/types'
import type { Network, NodeTrouble } from '../../../db/words.ts'
import { AppError } from '../../platform/errors.ts'
import type { Hex } from '../chain.ts'
import { NodeUnavailable, question, type Rpc } from '../node/rpc.ts'
import { bytes, decoded, MalformedAnswer, record } from '../node/wire.ts'
import { blake2Hash, fromHex, littleEndian, toHex } from './scale.ts'
import { type ExtrinsicForm, extrinsicFormOf, unknownToCodec } from './signed-extensions.ts'

export type RuntimeVersion = {
  readonly specName: string
  readonly specVersion: number
  readonly transactionVersion: number
}

type Expanded = ReturnType<typeof expandMetadata>

/** A version of a runtime with its parsed metadata. `registry` encodes and decodes its types. */
export type Runtime = RuntimeVersion & {
  /** The metadata as the node gave it. `bytesHash` is its BLAKE2b-256 and identifies it. */
  readonly bytes: Uint8Array
  readonly bytesHash: Hex
  readonly form: ExtrinsicForm
  readonly registry: TypeRegistry
  readonly metadata: Metadata
  /** Calls by pallet and name, in camel case: `calls.balances.transferKeepAlive`. */
  readonly calls: Expanded['tx']
  readonly constants: Expanded['consts']
  /** Storage entries by pallet and name; each computes its key. */
  readonly storage: Expanded['query']
  /** Whether an event reports each fee; runtimes before 2022 have none. */
  readonly reportsFees: boolean
}

/** A constant that is an integer; null if the runtime does not have it. Names are in camel case. Pure. */
export const constantOf = ({ constants }: Pick<Runtime, 'constants'>, pallet: string, name: string): bigint | null => {
  const found = constants[pallet]?.[name]
  return found === undefined ? null : littleEndian(found.toU8a())
}

export const palletOf = ({ metadata }: Pick<Runtime, 'metadata'>, wanted: string) =>
  metadata.asLatest.pallets.find(({ name }) => name.toString() === wanted)

export const apiMethodOf = ({ metadata }: Pick<Runtime, 'metadata'>, api: string, method: string) =>
  metadata.asLatest.apis
    .find(({ name }) => name.toString() === api)
    ?.methods.find(({ name }) => name.toString() === method)

const wholeNumber = (value: unknown): number => {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0)
    throw new MalformedAnswer('a whole number')
  return value
}

const parseVersion = (value: unknown): RuntimeVersion => {
  const { specName, specVersion, transactionVersion } = record(value)
  if (typeof specName !== 'string') throw new MalformedAnswer('the name of a runtime')
  return { specName, specVersion: wholeNumber(specVersion), transactionVersion: wholeNumber(transactionVersion) }
}

export const versionQuestion = (blockHash?: Hex) =>
  question('state_getRuntimeVersion', blockHash === undefined ? [] : [blockHash], parseVersion)

/** Takes metadata out of the Option<Bytes> that `Metadata_metadata_at_version` returns. */
const unwrapped = (answer: unknown): Hex | null => {
  const option = bytes(answer)
  if (!option.startsWith('0x01')) return null
  return decoded('metadata', () => new TypeRegistry().createType('Option<Bytes>', fromHex(option)).unwrap().toHex())
}

/** Version 15: the newest that we read and that current nodes give. Older runtimes have only one version. */
const METADATA_VERSION = '0x0f000000'

const askMetadata = async (rpc: Rpc, blockHash: Hex): Promise<Hex> => {
  const [versioned, plain] = await rpc.tryAll(
    [
      question('state_call', ['Metadata_metadata_at_version', METADATA_VERSION, blockHash], unwrapped),
      question('state_getMetadata', [blockHash], bytes),
    ],
    { size: 'bulk' },
  )
  return (versioned.ok ? versioned.value : null) ?? rpc.need(plain)
}

/**
 * Metadata gives the index byte of a pallet twice: in the list of pallets, which is used to encode calls, and in the
 * type of all calls, which alone is covered by the metadata hash (RFC 78). @throws Error if the two differ.
 */
const refuseOtherCalls = (registry: TypeRegistry, metadata: Metadata): void => {
  const { pallets, extrinsic } = metadata.asLatest
  const { variants } = registry.lookup.getSiType(extrinsic.callType).def.asVariant
  for (const { name, index, calls } of pallets) {
    if (calls.isNone) continue
    const same = variants.filter((each) => each.index.eq(index))
    const [variant] = same
    const isSame =
      variant?.name.eq(name) && variant.fields.length === 1 && variant.fields[0]?.type.eq(calls.unwrap().type)
    if (same.length !== 1 || !isSame) throw new Error(`metadata with two kinds of calls of ${name}`)
  }
}

/** @param ss58Prefix the prefix of decoded addresses. @throws Error for bytes that are not metadata. */
export const readRuntime = (
  version: RuntimeVersion,
  { metadata: bytesOfMetadata, ss58Prefix }: { readonly metadata: Hex; readonly ss58Prefix: number },
): Runtime => {
  const registry = new TypeRegistry()
  const metadata = new Metadata(registry, bytesOfMetadata)
  registry.setLookup(metadata.asLatest.lookup)
  registry.setMetadata(metadata, undefined, unknownToCodec(metadata))
  const properties = registry.createType('ChainProperties', { ss58Format: ss58Prefix }) as unknown
  registry.setChainProperties(properties as Parameters<TypeRegistry['setChainProperties']>[0])
  const { tx: calls, consts: constants, query: storage } = expandMetadata(registry, metadata)
  // The codec also accepts empty metadata and empty bytes.
  if (calls.system === undefined) throw new Error('metadata without a System')
  refuseOtherCalls(registry, metadata)
  const bytes = fromHex(bytesOfMetadata)
  const own = { bytes, bytesHash: toHex(blake2Hash(bytes)), form: extrinsicFormOf(registry, metadata) }
  const reportsFees = palletOf({ metadata }, 'TransactionPayment')?.events.isSome === true
  return { ...version, ...own, registry, metadata, calls, constants, storage, reportsFees }
}

/** The BLAKE2b-256 of metadata, by specVersion. */
export type MetadataPins = ReadonlyMap<number, Hex>

/** How many versions are cached: two are in use around an upgrade, and one more while old blocks are read. */
const CACHED_MAX = 3

export type Runtimes = {
  of(version: RuntimeVersion, blockHash: Hex): Promise<Runtime>
  /** The runtime in the state of a block; one question if the version is cached. */
  at(blockHash: Hex): Promise<Runtime>
}

export const createRuntimes = (input: {
  readonly rpc: Rpc
  readonly network: Network
  readonly ss58Prefix: number
  readonly pins?: MetadataPins
  /** Called for metadata that cannot be parsed or does not match its pin. */
  readonly onTrouble?: (trouble: NodeTrouble) => void
}): Runtimes => {
  const { rpc, network, ss58Prefix, pins = new Map(), onTrouble = () => {} } = input
  /** By specVersion; the most recently used is last. */
  const cached = new Map<number, Promise<Runtime>>()

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
    const runtime = readOrRefuse(version, await askMetadata(rpc, blockHash))
    const pin = pins.get(version.specVersion)
    if (pin === undefined || pin === runtime.bytesHash) return runtime
    onTrouble('unreadable')
    throw new AppError(
      'metadata_untrusted',
      `The ${network} node gives other metadata of runtime ${version.specVersion} than is pinned for it.`,
    )
  }

  const of: Runtimes['of'] = (version, blockHash) => {
    const { specVersion } = version
    const runtime = cached.get(specVersion) ?? read(version, blockHash)
    cached.delete(specVersion)
    cached.set(specVersion, runtime)
    runtime.catch(() => cached.get(specVersion) === runtime && cached.delete(specVersion))
    for (const oldest of [...cached.keys()].slice(0, -CACHED_MAX)) cached.delete(oldest)
    return runtime
  }

  return { of, at: async (blockHash) => of(await rpc.ask(versionQuestion(blockHash)), blockHash) }
}
