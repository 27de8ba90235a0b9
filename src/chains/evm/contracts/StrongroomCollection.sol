// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {IERC165} from "@openzeppelin/contracts/interfaces/IERC165.sol";
import {IERC4906} from "@openzeppelin/contracts/interfaces/IERC4906.sol";
import {ERC2981} from "@openzeppelin/contracts/token/common/ERC2981.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {DigestUris} from "./DigestUris.sol";
import {OwnedCollection} from "./OwnedCollection.sol";

/// ERC-5192: tokens that cannot be transferred.
interface IERC5192 {
    event Locked(uint256 tokenId);
    event Unlocked(uint256 tokenId);

    function locked(uint256 tokenId) external view returns (bool);
}

/// Mints several tokens in one call. Its ERC-165 id is the selector of the function.
interface IBatchMint {
    function safeMintBatch(
        address[] calldata recipients,
        bytes32[] calldata digests,
        string calldata prefix,
        string calldata suffix
    ) external returns (uint256 firstTokenId);
}

/**
 * @title A collection of ERC-721 tokens that its owner mints.
 * @notice Token ids are 1, 2, 3, … in the order of minting.
 * A token with a URI of its own answers exactly that URI, whatever the base URI is: hosted metadata is addressed by its
 * digest, so a prefix would break it. OpenZeppelin's ERC721URIStorage prefixes it, which is why it is not used here.
 */
contract StrongroomCollection is ERC721, OwnedCollection, DigestUris, IERC4906, IERC5192, IBatchMint {
    // ERC-4906 defines events only; its interface id is the standard's number rather than a hash of functions.
    bytes4 private constant ERC4906_INTERFACE_ID = 0x49064906;

    uint256 private _lastTokenId;
    string private _baseUri;
    mapping(uint256 tokenId => string) private _tokenUris;

    /// @notice The two lists of a batch have different lengths.
    error BatchLengthMismatch(uint256 recipients, uint256 digests);

    /// @param royaltyBasisPoints ten-thousandths of each sale for `royaltyReceiver`; 0 for none.
    constructor(
        string memory name_,
        string memory symbol_,
        string memory baseUri,
        string memory contractUri,
        address initialOwner,
        address royaltyReceiver,
        uint96 royaltyBasisPoints,
        bool isSoulbound
    )
        ERC721(name_, symbol_)
        OwnedCollection(contractUri, initialOwner, royaltyReceiver, royaltyBasisPoints, isSoulbound)
    {
        _baseUri = baseUri;
    }

    /**
     * @notice Mints the next token to `to`; a contract must accept it (ERC-721 onERC721Received).
     * @param uri the token's own metadata URI, or "" to follow the base URI.
     */
    function safeMint(address to, string calldata uri) external onlyOwner returns (uint256 tokenId) {
        tokenId = ++_lastTokenId;
        // Before the receiver is called, so that it already sees the token's metadata.
        if (bytes(uri).length > 0) _tokenUris[tokenId] = uri;
        _safeMint(to, tokenId);
    }

    /**
     * @notice Mints the next tokens, one for each recipient: all of them, or none.
     * @param digests of the tokens' metadata, or 0 for a token that follows the base URI.
     * @param prefix of the URI of a digest: prefix, the digest as 64 hex digits, suffix.
     */
    function safeMintBatch(
        address[] calldata recipients,
        bytes32[] calldata digests,
        string calldata prefix,
        string calldata suffix
    ) external onlyOwner returns (uint256 firstTokenId) {
        if (recipients.length != digests.length) revert BatchLengthMismatch(recipients.length, digests.length);
        firstTokenId = _lastTokenId + 1;
        // Before the receivers are called, so that whatever they do takes none of these ids.
        _lastTokenId += recipients.length;
        _useDigestForm(firstTokenId, prefix, suffix);
        for (uint256 i = 0; i < recipients.length; i++) {
            _setDigest(firstTokenId + i, digests[i]);
            _safeMint(recipients[i], firstTokenId + i);
        }
    }

    /// @notice Gives a token its own metadata URI; "" makes it follow the base URI again.
    function setTokenURI(uint256 tokenId, string calldata uri) external onlyOwner {
        _requireOwned(tokenId);
        _tokenUris[tokenId] = uri;
        emit MetadataUpdate(tokenId);
    }

    /// @notice Sets the prefix for tokens without a URI of their own; "" leaves them without metadata.
    function setBaseURI(string calldata baseUri) external onlyOwner {
        _baseUri = baseUri;
        if (_lastTokenId > 0) emit BatchMetadataUpdate(1, _lastTokenId);
    }

    /// @notice Whether the token can never be transferred (ERC-5192).
    function locked(uint256 tokenId) external view returns (bool) {
        _requireOwned(tokenId);
        return _isSoulbound;
    }

    /// @notice How many tokens were minted; it is also the highest token id.
    function totalMinted() external view returns (uint256) {
        return _lastTokenId;
    }

    /// @notice The token's own URI; else that of its digest; else base URI and token id; else "".
    function tokenURI(uint256 tokenId) public view override returns (string memory) {
        _requireOwned(tokenId);
        string memory own = _tokenUris[tokenId];
        if (bytes(own).length > 0) return own;
        string memory ofDigest = _digestUri(tokenId);
        return bytes(ofDigest).length > 0 ? ofDigest : super.tokenURI(tokenId);
    }

    /// @inheritdoc IERC165
    function supportsInterface(bytes4 interfaceId) public view override(ERC721, ERC2981, IERC165) returns (bool) {
        return
            interfaceId == ERC4906_INTERFACE_ID ||
            interfaceId == type(IBatchMint).interfaceId ||
            interfaceId == type(IERC5192).interfaceId ||
            super.supportsInterface(interfaceId);
    }

    function _baseURI() internal view override returns (string memory) {
        return _baseUri;
    }

    /// Tokens are never burned, so a token that has an owner can only be transferred.
    function _update(address to, uint256 tokenId, address auth) internal override returns (address from) {
        from = super._update(to, tokenId, auth);
        if (!_isSoulbound) return from;
        if (from != address(0)) revert Soulbound();
        emit Locked(tokenId);
    }
}
