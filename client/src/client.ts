import { type Connection, call, type Fetch } from './call.ts'
import { type EventOf, type EventsOptions, type EventType, readEvents } from './events.ts'
import type { CallOptions, Operation } from './operation.ts'
import { OPERATIONS, type Operations } from './operations.generated.ts'
import { type Submitted, type TransactionStatus, type WaitOptions, waitFor } from './wait-for.ts'

type Token = string | (() => string | Promise<string>)

type Settings = {
  /** The URL of the service, for instance `https://wallets.example.com`. */
  readonly baseUrl: string
  readonly projectId: string
  /** Instead of the platform's. */
  readonly fetch?: Fetch
  /** How often a call is sent again that failed for now; 2 by default. */
  readonly retries?: number
  /** For each attempt; 30 s by default. */
  readonly timeoutMs?: number
}

/** An API key acts for the project, an access token for one of its users; without either only logins are possible. */
type Bearer =
  | { readonly apiKey: Token; readonly accessToken?: never; readonly tokenSource?: never }
  | {
      readonly accessToken: Token
      readonly apiKey?: never
      /** The name of the project's own issuer, if the token is one of it. */
      readonly tokenSource?: string | undefined
    }
  | { readonly apiKey?: never; readonly accessToken?: never; readonly tokenSource?: never }

export type ClientOptions = Settings & Bearer

export type Client = Omit<Operations, 'events'> & {
  /**
   * Called, it gives the events of the project one after the other, until the loop or `signal` ends it: `for await
   * (const event of strongroom.events({ after }))`. It waits for new ones, and goes on by itself when the service was
   * away.
   */
  events: Operations['events'] &
    (<Type extends EventType = EventType>(
      options?: EventsOptions<Type>,
    ) => AsyncGenerator<EventOf<Type>, void, undefined>)
  /**
   * Waits until a transaction is in a block, or with `until: 'broadcast'` until it has a hash. It throws a
   * `TransactionFailedError` if it failed.
   */
  waitFor(transaction: Submitted, options?: WaitOptions): Promise<TransactionStatus>
  /** Calls an operation that this version of the package does not know. */
  request(operation: Operation, input?: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>
}

const RETRIES = 2
const TIMEOUT_MS = 30_000

type Calls = Readonly<Record<string, unknown>>

const isOperation = (value: Operation | Readonly<Record<string, Operation>>): value is Operation =>
  typeof value.method === 'string'

const mapValues = <From, To>(values: Readonly<Record<string, From>>, change: (value: From) => To): Record<string, To> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(value)]))

/** A client of the service. It asks nothing before the first call. */
export const createClient = (options: ClientOptions): Client => {
  const token = options.apiKey ?? options.accessToken
  const connection: Connection = {
    baseUrl: options.baseUrl,
    projectId: options.projectId,
    token: async () => (typeof token === 'function' ? token() : token),
    tokenSource: options.tokenSource,
    // Not as a method: a browser's fetch needs the window as `this`.
    fetch: options.fetch ?? ((input, init) => fetch(input, init)),
    retries: options.retries ?? RETRIES,
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  }
  const methodOf = (operation: Operation) => (input?: Calls, given?: CallOptions) =>
    call(connection, { operation, input, options: given })
  const operations = mapValues(
    OPERATIONS,
    (found) => (isOperation(found) ? methodOf(found) : mapValues(found, methodOf)),
    // The table and the type are made of the same document.
  ) as unknown as Operations
  return {
    ...operations,
    events: Object.assign<Client['events'], Operations['events']>(
      ((given) => readEvents(connection, given)) as Client['events'],
      operations.events,
    ),
    waitFor: (transaction, given) => waitFor(operations, transaction, given),
    request: (operation, input, given) => call(connection, { operation, input, options: given }),
  }
}
