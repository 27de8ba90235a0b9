// The largest body of each route. Routes that are not listed accept a small one.

const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE

/** Twice the size of the longest fields of all routes that are not listed below. */
export const SMALL_BODY_BYTES = 16 * KIBIBYTE

/** 1 MB of call data, more than any network accepts in one transaction, is 2 MB of hex; a bundle has several. */
const CALL_DATA_BYTES = 4 * MEBIBYTE
/** Contracts take a few kilobytes. */
const TYPED_DATA_BYTES = MEBIBYTE
/** 50 rules with values of 1,024 characters. */
const RULES_BYTES = 256 * KIBIBYTE
/** A description of 4,096 characters, each of which may be written as two escapes of six. */
const METADATA_BYTES = 64 * KIBIBYTE
/** A contract wallet's signature of 8,192 bytes in hex, and the message that it signs. */
const SIGNATURE_BYTES = 32 * KIBIBYTE

/** 200 documents; long descriptions need several requests, as proxies are told of no larger body. */
const BATCH_METADATA_BYTES = 4 * MEBIBYTE
/** An image; proxies are told of no larger body. */
const IMAGE_BYTES = 4 * MEBIBYTE

/** By path, as the route declares it. */
export const LARGE_BODIES: ReadonlyMap<string, number> = new Map([
  ['/transactions/preview', CALL_DATA_BYTES],
  ['/transactions/preview-bundle', CALL_DATA_BYTES],
  ['/transactions/sign', CALL_DATA_BYTES],
  ['/transactions/sign-and-send', CALL_DATA_BYTES],
  ['/transactions/batch-sign-and-send', CALL_DATA_BYTES],
  // Messages have no limit of their own, because people also sign documents.
  ['/transactions/sign-message', CALL_DATA_BYTES],
  ['/transactions/preview-typed-data', TYPED_DATA_BYTES],
  ['/transactions/sign-typed-data', TYPED_DATA_BYTES],
  ['/policies', RULES_BYTES],
  ['/policies/describe', RULES_BYTES],
  ['/nfts/mint', METADATA_BYTES],
  ['/nfts/batch-mint', BATCH_METADATA_BYTES],
  ['/nfts/upload', IMAGE_BYTES],
  ['/users/verify-login', SIGNATURE_BYTES],
])

/** The paths whose body is a form with one file. All others take JSON. */
export const FILE_BODIES: ReadonlySet<string> = new Set(['/nfts/upload'])

export const bodyLimitOf = (route: string): number => LARGE_BODIES.get(route) ?? SMALL_BODY_BYTES
