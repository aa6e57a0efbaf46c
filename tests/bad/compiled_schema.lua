grpc.load "descriptors.binpb"

task { function(user) user:grpc("shop.Shop/Get", {}) end }
