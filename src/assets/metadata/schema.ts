import { type Static, type TProperties, Type } from '@sinclair/typebox'
import { closed, NewName, SendingFields, takesCredentials, VisibleLines } from '../../platform/http/schema.ts'

const IMAGE = 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi'

/** A URI that clients fetch, but the server never does. */
export const UriField = (description: string) =>
  Type.String({
    maxLength: 2048,
    // Other schemes could be code (javascript:, data:) or a local resource (file:, http:) for a page that displays it.
    // Text before an @ is a password or a false host name; browsers read a backslash as a slash.
    // Images that a service on this machine hosts are the exception: their path names nothing else.
    pattern:
      '^(?:(?:https|ipfs|ar)://(?![^/?#]*@)[^/?#\\s\\x00-\\x1f\\x7f\\\\][^\\s\\x00-\\x1f\\x7f\\\\]*|http://localhost(?::[0-9]{1,5})?/metadata/[0-9a-f]{64}\\.[a-z]{3,4})$',
    description: `${description} The server never fetches it.`,
    rule: 'a URI of at most 2048 characters: https://, ipfs:// or ar:// and a host or name, no user, space or backslash',
    examples: [IMAGE],
  })

export const MetadataBody = Type.Object(
  {
    name: NewName("The token's name.", 'Door #1'),
    description: VisibleLines(
      { minLength: 0, maxLength: 4096 },
      { description: 'A description of the token.', examples: ['A red door.'] },
    ),
    image: UriField("The URI of the token's image."),
  },
  {
    ...closed,
    title: 'MetadataToHost',
    description: 'EIP-721 metadata, hosted under the digest of its text.',
    examples: [{ name: 'Door #1', description: 'A red door.', image: IMAGE }],
  },
)

/** Metadata of any token; missing fields are empty. */
export const NftMetadata = Type.Object(
  { name: Type.String(), description: Type.String(), image: Type.String() },
  {
    ...closed,
    title: 'NftMetadata',
    examples: [{ name: 'Door #1', description: 'A red door.', image: IMAGE }],
  },
)
export type NftMetadata = Static<typeof NftMetadata>

/** The body of a request that submits a transaction. @param example without the credentials. */
export const SubmitBody = <Fields extends TProperties>(title: string, fields: Fields, example: object) =>
  Type.Object(
    { ...fields, ...SendingFields },
    {
      ...closed,
      title,
      ...takesCredentials('one'),
      examples: [{ network: 'Ethereum', ...example, developer_secret: 'testnet-secret' }],
    },
  )
