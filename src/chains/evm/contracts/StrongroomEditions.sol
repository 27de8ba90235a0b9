// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC2981} from "@openzeppelin/contracts/token/common/ERC2981.sol";
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
import {Strings} from "@openzeppelin/contracts/utils/Strings.sol";
import {DigestUris} from "./DigestUris.sol";
import {OwnedCollection} from "./OwnedCollection.sol";

/// Mints pieces of several tokens in one call. Its ERC-165 id is the selector of the function.
interface IBatchMintPieces {
    /// Pieces for one recipient. `tokenId` as for mintTo; `digest` of a new token's metadata, or 0.
    struct Mint {
        address to;
        uint256 tokenId;
        uint256 amount;
        bytes32 digest;
    }

    function mintToBatch(Mint[] calldata mints, string calldata prefix, string calldata suffix) external;
}

/**
 * @title A collection of ERC-1155 tokens that its owner mints, in any number of pieces.
 * @notice Token ids are 1, 2, 3, … in the order of their first mint.
 */
contract StrongroomEditions is ERC1155, OwnedCollection, DigestUris, IBatchMintPieces {
    /// The id with which mintTo makes a new token, as in thirdweb's TokenERC1155.
    uint256 private constant NEW_TOKEN = type(uint256).max;

    string public name;
    string public symbol;
    uint256 private _lastTokenId;
    string private _baseUri;
    mapping(uint256 tokenId => string) private _tokenUris;

    /// @notice There is no token with this id.
    error UnknownToken(uint256 tokenId);
    /// @notice The token exists, and its URI is not changed by a mint.
    error TokenHasUri(uint256 tokenId);

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
        ERC1155("")
        OwnedCollection(contractUri, initialOwner, royaltyReceiver, royaltyBasisPoints, isSoulbound)
    {
        name = name_;
        symbol = symbol_;
        _baseUri = baseUri;
    }

    /**
     * @notice Mints `amount` pieces to `to`; a contract must accept them (ERC-1155 onERC1155Received).
     * @param tokenId of an existing token, or 2^256 - 1 for a new one.
     * @param uri_ the new token's own metadata URI, or "" to follow the base URI; "" for an existing token.
     */
    function mintTo(
        address to,
        uint256 tokenId,
        string calldata uri_,
        uint256 amount
    ) external onlyOwner returns (uint256 mintedId) {
        mintedId = tokenId;
        if (tokenId == NEW_TOKEN) {
            mintedId = ++_lastTokenId;
            if (bytes(uri_).length > 0) _setTokenURI(mintedId, uri_);
        } else {
            _requireToken(tokenId);
            if (bytes(uri_).length > 0) revert TokenHasUri(tokenId);
        }
        _mint(to, mintedId, amount, "");
    }

    /**
     * @notice Mints pieces in the order of the list: all of them, or none.
     * @param prefix of the URI of a digest: prefix, the digest as 64 hex digits, suffix.
     */
    function mintToBatch(Mint[] calldata mints, string calldata prefix, string calldata suffix) external onlyOwner {
        _useDigestForm(_lastTokenId + 1, prefix, suffix);
        for (uint256 i = 0; i < mints.length; i++) {
            Mint calldata each = mints[i];
            uint256 tokenId = each.tokenId;
            if (tokenId == NEW_TOKEN) {
                tokenId = ++_lastTokenId;
                _setDigest(tokenId, each.digest);
                if (each.digest != 0) emit URI(uri(tokenId), tokenId);
            } else {
                _requireToken(tokenId);
                if (each.digest != 0) revert TokenHasUri(tokenId);
            }
            _mint(each.to, tokenId, each.amount, "");
        }
    }

    /// @notice Gives a token its own metadata URI; "" makes it follow the base URI again.
    function setTokenURI(uint256 tokenId, string calldata uri_) external onlyOwner {
        _requireToken(tokenId);
        _setTokenURI(tokenId, uri_);
    }

    /// @notice How many tokens there are; it is also the highest token id.
    function totalTokens() external view returns (uint256) {
        return _lastTokenId;
    }

    /// @notice The token's own URI; else that of its digest; else base URI and token id; else "".
    function uri(uint256 tokenId) public view override returns (string memory) {
        _requireToken(tokenId);
        string memory own = _tokenUris[tokenId];
        if (bytes(own).length == 0) own = _digestUri(tokenId);
        if (bytes(own).length > 0 || bytes(_baseUri).length == 0) return own;
        return string.concat(_baseUri, Strings.toString(tokenId));
    }

    function supportsInterface(bytes4 interfaceId) public view override(ERC1155, ERC2981) returns (bool) {
        return interfaceId == type(IBatchMintPieces).interfaceId || super.supportsInterface(interfaceId);
    }

    /// Pieces are never burned, so what has an owner can only be transferred.
    function _update(
        address from,
        address to,
        uint256[] memory ids,
        uint256[] memory values
    ) internal override {
        if (_isSoulbound && from != address(0)) revert Soulbound();
        super._update(from, to, ids, values);
    }

    function _setTokenURI(uint256 tokenId, string calldata uri_) private {
        _tokenUris[tokenId] = uri_;
        emit URI(uri(tokenId), tokenId);
    }

    function _requireToken(uint256 tokenId) private view {
        if (tokenId == 0 || tokenId > _lastTokenId) revert UnknownToken(tokenId);
    }
}
